import 'reflect-metadata';
import { randomBytes, webcrypto } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as x509 from '@peculiar/x509';
import { writeWhole } from './state.js';

/** A certificate and its private key, both PEM (the key in PKCS #8). */
export interface KeyPair {
  cert: string;
  key: string;
}

/** One certificate to have. */
export interface CertificateRequest {
  /** File name without ending. */
  name: string;
  /** Common name: the user for a client certificate. */
  commonName: string;
  /** Organisations: the groups for a client certificate. */
  organizations?: string[];
  /** DNS names and IP addresses, for a server certificate. */
  hosts?: { dns: string[]; ip: string[] };
  usage: ('client' | 'server')[];
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const clockSkewMs = 60 * 60 * 1000;
const lifetimeMs = 10 * 365 * 24 * 60 * 60 * 1000;

/**
 * A certificate authority in a folder (`<name>.crt`, `<name>.key`), made on
 * first use. Certificates live ten years: they are of use on this machine only
 * and go with the data dir.
 */
export class CertificateAuthority {
  readonly #folder: string;
  readonly #cert: x509.X509Certificate;
  readonly #key: webcrypto.CryptoKey;

  private constructor(folder: string, cert: x509.X509Certificate, key: webcrypto.CryptoKey) {
    this.#folder = folder;
    this.#cert = cert;
    this.#key = key;
  }

  /** Opens the authority `name` in `folder`, making it when it is not there. */
  static async open(folder: string, name: string): Promise<CertificateAuthority> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await chmod(folder, 0o700);
    const certFile = join(folder, `${name}.crt`);
    const keyFile = join(folder, `${name}.key`);
    if (existsSync(certFile)) {
      const key = await importKey(await readFile(keyFile, 'utf8'));
      return new CertificateAuthority(
        folder,
        new x509.X509Certificate(await readFile(certFile, 'utf8')),
        key,
      );
    }
    const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
    const cert = await x509.X509CertificateGenerator.createSelfSigned({
      serialNumber: serialNumber(),
      name: [{ CN: [`drover embedded ${name}`] }],
      ...validity(),
      signingAlgorithm: algorithm,
      keys,
      extensions: [
        new x509.BasicConstraintsExtension(true, 0, true),
        new x509.KeyUsagesExtension(
          x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign | x509.KeyUsageFlags.digitalSignature,
          true,
        ),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    });
    // The certificate last: its presence says that the key is there too.
    await writeWhole(keyFile, await exportKey(keys.privateKey));
    await writeWhole(certFile, pem(cert));
    return new CertificateAuthority(folder, cert, keys.privateKey);
  }

  /** The authority's own certificate, PEM. */
  get certificate(): string {
    return pem(this.#cert);
  }

  /** Returns the certificate asked for, from the folder or newly signed. */
  async issue(request: CertificateRequest): Promise<KeyPair> {
    const certFile = join(this.#folder, `${request.name}.crt`);
    const keyFile = join(this.#folder, `${request.name}.key`);
    if (existsSync(certFile)) {
      return { cert: await readFile(certFile, 'utf8'), key: await readFile(keyFile, 'utf8') };
    }
    const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
    const hosts = request.hosts;
    const cert = await x509.X509CertificateGenerator.create({
      serialNumber: serialNumber(),
      subject: [{ CN: [request.commonName] }, ...(request.organizations ?? []).map((o) => ({ O: [o] }))],
      issuer: this.#cert.subject,
      ...validity(),
      signingAlgorithm: algorithm,
      publicKey: keys.publicKey,
      signingKey: this.#key,
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension(
          request.usage.map((u) => x509.ExtendedKeyUsage[u === 'client' ? 'clientAuth' : 'serverAuth']),
        ),
        await x509.AuthorityKeyIdentifierExtension.create(this.#cert),
        ...(hosts === undefined
          ? []
          : [
              new x509.SubjectAlternativeNameExtension([
                ...hosts.dns.map((value) => ({ type: 'dns' as const, value })),
                ...hosts.ip.map((value) => ({ type: 'ip' as const, value })),
              ]),
            ]),
      ],
    });
    const pair = { cert: pem(cert), key: await exportKey(keys.privateKey) };
    await writeWhole(keyFile, pair.key);
    await writeWhole(certFile, pair.cert);
    return pair;
  }
}

/** Makes sure that a signing key pair for service account tokens is there; returns the files. */
export async function serviceAccountKeys(folder: string): Promise<{ privateKey: string; publicKey: string }> {
  const privateKey = join(folder, 'service-account.key');
  const publicKey = join(folder, 'service-account.pub');
  if (!existsSync(publicKey)) {
    const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
    await writeWhole(privateKey, await exportKey(keys.privateKey));
    const spki = await webcrypto.subtle.exportKey('spki', keys.publicKey);
    await writeWhole(publicKey, `${x509.PemConverter.encode(spki, 'PUBLIC KEY')}\n`);
  }
  return { privateKey, publicKey };
}

function validity(): { notBefore: Date; notAfter: Date } {
  const now = Date.now();
  return { notBefore: new Date(now - clockSkewMs), notAfter: new Date(now + lifetimeMs) };
}

// Positive and without a leading zero byte, as DER wants its integers.
function serialNumber(): string {
  const bytes = randomBytes(16);
  bytes[0] = (bytes[0]! & 0x3f) | 0x40;
  return bytes.toString('hex');
}

function pem(cert: x509.X509Certificate): string {
  return `${cert.toString('pem')}\n`;
}

async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  return `${x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY')}\n`;
}

async function importKey(text: string): Promise<webcrypto.CryptoKey> {
  const der = x509.PemConverter.decodeFirst(text);
  return webcrypto.subtle.importKey('pkcs8', der, algorithm, true, ['sign']);
}
