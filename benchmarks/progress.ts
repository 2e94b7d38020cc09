/** Shows what is going on in a terminal, on one line; logs get nothing. */
export function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
}
