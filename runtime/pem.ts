/** Certificates and keys that somebody else keeps: whether they are good, said before anybody is met with them. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** A certificate or key, and what people call it. */
export interface Pem {
  called: string;
  text: string;
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * Reads a file.
 *
 * @param called with the setting that it comes from
 * @throws Error in one sentence
 */
export function readPem(path: string, called: string): Pem {
  try {
    return { called, text: readFileSync(path, 'utf8') };
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    const why = isMissing ? 'there is no such file' : (error as Error).message;
    throw new Error(`${called} cannot be read: ${why}; mount it, or correct the path`, { cause: error });
  }
}

/**
 * Checks a certificate with its key.
 *
 * @returns the certificate, the first of its text
 * @throws Error in one sentence: it cannot be read, has expired, or is of another key
 */
export function checkPair(cert: Pem, key: Pem, now: Date): X509Certificate {
  const certificate = certificateOf(cert, now);
  if (!certificate.checkPrivateKey(keyOf(key)))
    throw new Error(
      `${cert.called} does not belong to ${key.called}: put the certificate and the key of one pair there`,
    );
  return certificate;
}

/**
 * Checks a bundle of authorities. Some may have expired, as long as one has not.
 *
 * @throws Error in one sentence
 */
export function checkAuthorities({ called, text }: Pem, now: Date): void {
  const [first = text, ...others] = text.match(CERTIFICATE) ?? [];
  const isGood = (block: string): boolean => {
    try {
      certificateOf({ called, text: block }, now);
      return true;
    } catch {
      return false;
    }
  };
  if (!others.some(isGood)) certificateOf({ called, text: first }, now);
}

function certificateOf({ called, text }: Pem, now: Date): X509Certificate {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(text);
  } catch (error) {
    throw new Error(`${called} is no certificate in PEM: put one there`, { cause: error });
  }
  const from = new Date(certificate.validFrom);
  const until = new Date(certificate.validTo);
  if (until <= now) throw new Error(`${called} has expired on ${until.toISOString()}: put a new one there`);
  if (from > now)
    throw new Error(
      `${called} is valid from ${from.toISOString()} on only: put another one there, or set the clock`,
    );
  return certificate;
}

function keyOf({ called, text }: Pem): KeyObject {
  try {
    return createPrivateKey(text);
  } catch (error) {
    throw new Error(`${called} is no private key in PEM without a passphrase: put one there`, {
      cause: error,
    });
  }
}
