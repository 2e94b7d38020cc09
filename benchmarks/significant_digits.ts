/** For `JSON.stringify`: numbers that are not whole with so many significant digits. */
export function significantDigits(digits: number): (key: string, value: unknown) => unknown {
  return (_, value) =>
    typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(digits)) : value;
}
