/** Certificates and keys, all PEM; keys are in PKCS #8. */
import 'reflect-metadata';
import { randomBytes, webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import * as x509 from '@peculiar/x509';

/** A certificate and its private key. */
export interface KeyPair {
  cert: string;
  key: string;
}

/** When a certificate is good. */
export interface Validity {
  notBefore: Date;
  notAfter: Date;
}

/** One certificate to issue. */
export interface CertificateRequest {
  /** The user, of a client certificate. */
  commonName: string;
  /** The groups, of a client certificate. */
  organizations?: readonly string[];
  /** DNS names and IP addresses, of a server certificate. */
  hosts?: readonly string[];
  usage: readonly ('client' | 'server')[];
  /** It ends with that of the authority at the latest. */
  validity: Validity;
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const MAX_SKEW_MS = 60 * 60 * 1000;

/** From now on for a time; a little earlier too, as clocks differ. */
export function validFor(now: Date, lifeMs: number): Validity {
  const skew = Math.min(MAX_SKEW_MS, lifeMs / 10);
  return { notBefore: new Date(now.getTime() - skew), notAfter: new Date(now.getTime() + lifeMs) };
}

/** Makes an authority that signs certificates, and no other authorities. */
export async function makeAuthority(commonName: string, validity: Validity): Promise<KeyPair> {
  const keys = await makeKeys();
  const cert = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: [{ CN: [commonName] }],
    ...validity,
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { cert: pemOf(cert), key: await privatePem(keys) };
}

/** Issues a certificate for a new key. */
export async function issueCertificate(authority: KeyPair, request: CertificateRequest): Promise<KeyPair> {
  const { commonName, organizations = [], hosts = [], usage, validity } = request;
  const issuer = new x509.X509Certificate(authority.cert);
  const keys = await makeKeys();
  const cert = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: [{ CN: [commonName] }, ...organizations.map((name) => ({ O: [name] }))],
    issuer: issuer.subjectName,
    notBefore: validity.notBefore,
    notAfter: validity.notAfter < issuer.notAfter ? validity.notAfter : issuer.notAfter,
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey,
    signingKey: await readPrivateKey(authority.key),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension(
        usage.map((one) => x509.ExtendedKeyUsage[one === 'client' ? 'clientAuth' : 'serverAuth']),
      ),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
      ...(hosts.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(hosts.map(alternativeName))]),
    ],
  });
  return { cert: pemOf(cert), key: await privatePem(keys) };
}

/** Makes a pair of keys for signing. */
export async function makeSigningKeys(): Promise<{ privateKey: string; publicKey: string }> {
  const keys = await makeKeys();
  const spki = await webcrypto.subtle.exportKey('spki', keys.publicKey);
  return {
    privateKey: await privatePem(keys),
    publicKey: `${x509.PemConverter.encode(spki, 'PUBLIC KEY')}\n`,
  };
}

const makeKeys = (): Promise<webcrypto.CryptoKeyPair> =>
  webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);

const alternativeName = (value: string): { type: 'dns' | 'ip'; value: string } => ({
  type: isIP(value) === 0 ? 'dns' : 'ip',
  value,
});

// Positive and without a leading zero byte, as DER wants its integers.
function serialNumber(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes.toString('hex');
}

const pemOf = (cert: x509.X509Certificate): string => `${cert.toString('pem')}\n`;

async function privatePem({ privateKey }: webcrypto.CryptoKeyPair): Promise<string> {
  return `${x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', privateKey), 'PRIVATE KEY')}\n`;
}

function readPrivateKey(pem: string): Promise<webcrypto.CryptoKey> {
  return webcrypto.subtle.importKey('pkcs8', x509.PemConverter.decodeFirst(pem), ALGORITHM, true, ['sign']);
}
