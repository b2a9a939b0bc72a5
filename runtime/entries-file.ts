import { readFile } from 'node:fs/promises';

/**
 * Reads a file of named texts: an object of JSON whose values are strings.
 *
 * @throws Error that names the file, and never what is in it
 */
export async function readEntries(path: string): Promise<Record<string, string>> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new Error(`"${path}" cannot be read: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The message of JSON.parse quotes the text.
    throw new Error(`"${path}" is not JSON`);
  }
  if (!isTexts(value)) throw new Error(`"${path}" is not an object whose values are strings`);
  return value;
}

const isTexts = (value: unknown): value is Record<string, string> =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  Object.values(value).every((entry) => typeof entry === 'string');
