/** Replaces secrets in a text. */
export type Redactor = (text: string) => string;

/** Shorter values cannot be told from ordinary text. */
const MIN_LENGTH = 4;

/** Shorter pieces of base64 are found in ordinary text. */
const MIN_BASE64_LENGTH = 6;

/**
 * Collects secret values that an attempt has read, so that nothing it reports repeats them: not as they are, nor the way
 * JSON, HTML, URLs or base64 write them, base64 also as a part of something longer.
 */
export function secretsOf(): { add(value: string): void; redact: Redactor } {
  const forms = new Set<string>();
  let longestFirst: string[] | undefined;
  return {
    add(value) {
      if (value.length < MIN_LENGTH) return;
      for (const form of formsOf(value)) forms.add(form);
      longestFirst = undefined;
    },
    redact(text) {
      // So that a secret inside another one does not leave the rest of it behind.
      longestFirst ??= [...forms].sort((a, b) => b.length - a.length);
      return longestFirst.reduce((clean, form) => clean.replaceAll(form, '[redacted]'), text);
    },
  };
}

function formsOf(value: string): string[] {
  const json = JSON.stringify(value).slice(1, -1);
  const ascii = json.replaceAll(/[\u0080-\uffff]/g, codeOf);
  const url = encodeURIComponent(value);
  const base64 = base64FormsOf(Buffer.from(value));
  return [
    value,
    ...[json, json.replaceAll('/', '\\/'), ascii, ascii.replaceAll('/', '\\/')],
    // As programs in Go write JSON.
    json.replaceAll(/[<>&\u2028\u2029]/g, codeOf),
    value.replaceAll(/[&<>"']/g, (character) => HTML[character] ?? character),
    ...[url, url.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()), url.replaceAll('%20', '+')],
    ...base64,
    ...base64.map((form) => form.replaceAll('+', '-').replaceAll('/', '_')),
  ];
}

const codeOf = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

const HTML: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** The base64 of the bytes, and the part of it that stays the same wherever they begin in something longer. */
function base64FormsOf(bytes: Buffer): string[] {
  const pieces = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    return text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
  });
  const whole = bytes.toString('base64');
  return [whole, whole.replace(/=+$/, ''), ...pieces.filter((piece) => piece.length >= MIN_BASE64_LENGTH)];
}
