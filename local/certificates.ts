import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { issueCertificate, makeAuthority, makeSigningKeys, validFor } from '../runtime/x509.js';
import type { CertificateRequest, KeyPair, Validity } from '../runtime/x509.js';
import { writeWhole } from './state.js';

const lifetimeMs = 10 * 365 * 24 * 60 * 60 * 1000;

/**
 * A certificate authority in a folder (`<name>.crt`, `<name>.key`), made on
 * first use. Certificates live ten years: they are of use on this machine only
 * and go with the data dir.
 */
export class CertificateAuthority {
  readonly #folder: string;
  readonly #pair: KeyPair;

  private constructor(folder: string, pair: KeyPair) {
    this.#folder = folder;
    this.#pair = pair;
  }

  /** Opens the authority `name` in `folder`, making it when it is not there. */
  static async open(folder: string, name: string): Promise<CertificateAuthority> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await chmod(folder, 0o700);
    const make = (): Promise<KeyPair> => makeAuthority(`drover embedded ${name}`, tenYears());
    return new CertificateAuthority(folder, await keptPair(folder, name, make));
  }

  /** The authority's own certificate, PEM. */
  get certificate(): string {
    return this.#pair.cert;
  }

  /**
   * Returns the certificate asked for, from the folder or newly signed.
   *
   * @param request.name file name without ending
   */
  async issue(request: Omit<CertificateRequest, 'validity'> & { name: string }): Promise<KeyPair> {
    const { name, ...rest } = request;
    return keptPair(this.#folder, name, () =>
      issueCertificate(this.#pair, { ...rest, validity: tenYears() }),
    );
  }
}

/** Makes sure that a signing key pair for service account tokens is there; returns the files. */
export async function serviceAccountKeys(folder: string): Promise<{ privateKey: string; publicKey: string }> {
  const privateKey = join(folder, 'service-account.key');
  const publicKey = join(folder, 'service-account.pub');
  if (!existsSync(publicKey)) {
    const keys = await makeSigningKeys();
    await writeWhole(privateKey, keys.privateKey);
    await writeWhole(publicKey, keys.publicKey);
  }
  return { privateKey, publicKey };
}

/** A certificate that is kept in a folder; made when it is not there. */
async function keptPair(folder: string, name: string, make: () => Promise<KeyPair>): Promise<KeyPair> {
  const certFile = join(folder, `${name}.crt`);
  const keyFile = join(folder, `${name}.key`);
  if (existsSync(certFile)) {
    return { cert: await readFile(certFile, 'utf8'), key: await readFile(keyFile, 'utf8') };
  }
  const pair = await make();
  // The certificate last: its presence says that the key is there too.
  await writeWhole(keyFile, pair.key);
  await writeWhole(certFile, pair.cert);
  return pair;
}

const tenYears = (): Validity => validFor(new Date(), lifetimeMs);
