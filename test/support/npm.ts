/** What is said where there is no network, or no npm. */
const UNREACHABLE =
  /\b(spawn npm ENOENT|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|ENOTCACHED)\b/;

/** Whether npm failed because it reaches no registry. */
export function isUnreachable({ message }: Error): boolean {
  return UNREACHABLE.test(message);
}
