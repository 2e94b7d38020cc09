/** What npm says where there is no network. */
const UNREACHABLE = /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|ENOTCACHED)\b/;

/** Whether npm failed because it reaches no registry. */
export function isUnreachable({ message }: Error): boolean {
  return UNREACHABLE.test(message);
}
