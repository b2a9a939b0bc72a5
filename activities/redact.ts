/** Replaces secrets in a text. */
export type Redactor = (text: string) => string;

/** Shorter values cannot be told from ordinary text. */
const SHORTEST = 4;

/**
 * Collects secret values that an attempt has read, so that nothing it reports repeats them: not as they are, nor the way
 * JSON, URLs or base64 write them.
 */
export function secretsOf(): { add(value: string): void; redact: Redactor } {
  const forms = new Set<string>();
  return {
    add(value) {
      if (value.length < SHORTEST) return;
      for (const form of [
        value,
        JSON.stringify(value).slice(1, -1),
        encodeURIComponent(value),
        Buffer.from(value).toString('base64'),
      ]) {
        forms.add(form);
      }
    },
    redact: (text) =>
      // Longest first, so that a secret inside another one does not leave the rest of it behind.
      [...forms]
        .sort((a, b) => b.length - a.length)
        .reduce((clean, form) => clean.replaceAll(form, '[redacted]'), text),
  };
}
