/**
 * Certificates of the webhook server: an authority of its own and a serving certificate signed by it. Pure but for the
 * keys it makes: time is passed in, and where the certificates are kept is the caller's business.
 */
import 'reflect-metadata';
import { createPrivateKey, randomBytes, webcrypto, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import * as x509 from '@peculiar/x509';

/** Everything that a webhook server needs, PEM. */
export interface Material {
  /** Authorities to trust: the current one first, then earlier ones that have not expired. */
  caBundle: string;
  /** Key of the current authority. */
  caKey: string;
  /** Serving certificate. */
  cert: string;
  key: string;
}

/** How long certificates live, in milliseconds. */
export interface Lifetimes {
  authorityMs: number;
  servingMs: number;
}

/** Renewed material. */
export interface Renewal {
  material: Material;
  /** Whether any part was renewed. */
  changed: boolean;
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const LONGEST_SKEW_MS = 60 * 60 * 1000;
const PEM_BLOCK = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * Material that is good at `now`: the present parts, or new ones for those past two thirds of their life, unreadable or
 * for other hosts. A new authority is only added: the serving certificate stays with the earlier one until its own time
 * has come, so that everybody knows the new authority before anything is signed by it.
 */
export async function renew(
  present: Partial<Material> | undefined,
  options: { hosts: readonly string[]; now: Date; lifetimes: Lifetimes },
): Promise<Renewal> {
  const { hosts, now, lifetimes } = options;
  const trusted = authoritiesOf(present?.caBundle).filter((ca) => endOf(ca) > now);
  const newest = trusted[0];
  let caKey = present?.caKey ?? '';
  let bundle = trusted;
  if (newest === undefined || isDue(newest, now) || !fits(newest, caKey)) {
    const made = await makeAuthority(now, lifetimes.authorityMs);
    caKey = made.key;
    bundle = [new X509Certificate(made.cert), ...trusted];
  }
  const [authority] = bundle;
  if (authority === undefined) throw new Error('unreachable: an authority was made');
  const caBundle = bundle.map((ca) => ca.toString()).join('');
  if (isGood(present, bundle, hosts, now)) {
    const { cert = '', key = '' } = present ?? {};
    return { material: { caBundle, caKey, cert, key }, changed: caBundle !== present?.caBundle };
  }
  const serving = await makeServing({ authority, caKey, hosts, now, lifeMs: lifetimes.servingMs });
  return { material: { caBundle, caKey, ...serving }, changed: true };
}

/** Until when a certificate is valid; undefined when it cannot be read. */
export function expiryOf(cert: string): Date | undefined {
  const found = read(cert);
  return found === undefined ? undefined : endOf(found);
}

/** When a certificate has lived two thirds of its life. */
const isDue = (cert: X509Certificate, now: Date): boolean => {
  const from = Date.parse(cert.validFrom);
  return now.getTime() >= from + ((endOf(cert).getTime() - from) * 2) / 3;
};

const endOf = (cert: X509Certificate): Date => new Date(cert.validTo);

function isGood(
  present: Partial<Material> | undefined,
  trusted: readonly X509Certificate[],
  hosts: readonly string[],
  now: Date,
): boolean {
  const cert = read(present?.cert);
  if (cert === undefined || isDue(cert, now) || !fits(cert, present?.key ?? '')) return false;
  const knowsHosts = hosts.every(
    (host) => (isIP(host) === 0 ? cert.checkHost(host) : cert.checkIP(host)) !== undefined,
  );
  return knowsHosts && trusted.some((ca) => cert.checkIssued(ca) && cert.verify(ca.publicKey));
}

function fits(cert: X509Certificate, key: string): boolean {
  try {
    return cert.checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

function read(pem: string | undefined): X509Certificate | undefined {
  try {
    return pem === undefined ? undefined : new X509Certificate(pem);
  } catch {
    return undefined;
  }
}

const authoritiesOf = (bundle: string | undefined): X509Certificate[] =>
  (bundle?.match(PEM_BLOCK) ?? []).flatMap((pem) => read(pem) ?? []);

async function makeAuthority(now: Date, lifeMs: number): Promise<{ cert: string; key: string }> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const cert = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    // A name of its own tells successive authorities apart where a bundle holds several.
    name: [{ CN: [`drover webhook authority ${randomBytes(4).toString('hex')}`] }],
    ...validity(now, lifeMs),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { cert: `${cert.toString('pem')}\n`, key: await exportKey(keys.privateKey) };
}

async function makeServing(options: {
  authority: X509Certificate;
  caKey: string;
  hosts: readonly string[];
  now: Date;
  lifeMs: number;
}): Promise<{ cert: string; key: string }> {
  const { hosts, now } = options;
  const authority = new x509.X509Certificate(options.authority.toString());
  const signingKey = await webcrypto.subtle.importKey(
    'pkcs8',
    x509.PemConverter.decodeFirst(options.caKey),
    algorithm,
    true,
    ['sign'],
  );
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const { notBefore, notAfter } = validity(now, options.lifeMs);
  const cert = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: [{ CN: ['drover webhook'] }],
    issuer: authority.subjectName,
    notBefore,
    notAfter: notAfter < authority.notAfter ? notAfter : authority.notAfter,
    signingAlgorithm: algorithm,
    publicKey: keys.publicKey,
    signingKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      await x509.AuthorityKeyIdentifierExtension.create(authority),
      new x509.SubjectAlternativeNameExtension(
        hosts.map((value) => ({ type: isIP(value) === 0 ? ('dns' as const) : ('ip' as const), value })),
      ),
    ],
  });
  return { cert: `${cert.toString('pem')}\n`, key: await exportKey(keys.privateKey) };
}

function validity(now: Date, lifeMs: number): { notBefore: Date; notAfter: Date } {
  // Clocks of API server and bridge may differ a little.
  const skew = Math.min(LONGEST_SKEW_MS, lifeMs / 10);
  return { notBefore: new Date(now.getTime() - skew), notAfter: new Date(now.getTime() + lifeMs) };
}

// Positive and without a leading zero byte, as DER wants its integers.
function serialNumber(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes.toString('hex');
}

async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  return `${x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY')}\n`;
}
