import fs from 'node:fs';

/** ELF's header, and what it says of a shared library for x86-64. All its numbers are little-endian. */
const HEADER_BYTES = 64;
const MAGIC = Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1]); // 64 bits, little-endian
const SHARED_OBJECT = 3;
const X86_64 = 62;
/** The smallest program header, which says which part of the file goes where in memory. */
const PROGRAM_HEADER_BYTES = 56;

/**
 * What is wrong with the file of a shared library, as far as its headers tell, or null. Opening one that is cut off ends the
 * process (SIGBUS) once what is missing is read; the dynamic linker does not check.
 */
export function damageOf(file: string): string | null {
  let descriptor: number | undefined;
  try {
    descriptor = fs.openSync(file, 'r');
    return damageOfOpen(descriptor);
  } catch (error) {
    return `it cannot be read: ${(error as Error).message}`;
  } finally {
    if (descriptor !== undefined) fs.closeSync(descriptor);
  }
}

function damageOfOpen(descriptor: number): string | null {
  const { size } = fs.fstatSync(descriptor);
  const header = readAt(descriptor, 0, HEADER_BYTES);
  const isLibrary =
    header.length === HEADER_BYTES &&
    header.subarray(0, MAGIC.length).equals(MAGIC) &&
    header.readUInt16LE(16) === SHARED_OBJECT &&
    header.readUInt16LE(18) === X86_64;
  if (!isLibrary) return size === 0 ? 'it is empty' : 'it is no shared library for x86-64';
  const needed = Math.max(endOfSections(header), endOfSegments(descriptor, header));
  return needed <= size ? null : `it is cut off: it has ${size} bytes of at least ${needed}`;
}

/** Where the list of sections ends, which linkers write last. */
function endOfSections(header: Buffer): number {
  return Number(header.readBigUInt64LE(40)) + header.readUInt16LE(58) * header.readUInt16LE(60);
}

/** Where the last part of the file ends that goes into memory. */
function endOfSegments(descriptor: number, header: Buffer): number {
  const offset = Number(header.readBigUInt64LE(32));
  const [bytes, count] = [header.readUInt16LE(54), header.readUInt16LE(56)];
  const table = readAt(descriptor, offset, bytes * count);
  let end = offset + bytes * count;
  for (let at = 0; at + PROGRAM_HEADER_BYTES <= table.length; at += Math.max(bytes, PROGRAM_HEADER_BYTES)) {
    end = Math.max(end, Number(table.readBigUInt64LE(at + 8)) + Number(table.readBigUInt64LE(at + 32)));
  }
  return end;
}

/** As many bytes as there are, up to `length`. */
function readAt(descriptor: number, offset: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  return bytes.subarray(0, fs.readSync(descriptor, bytes, 0, length, offset));
}
