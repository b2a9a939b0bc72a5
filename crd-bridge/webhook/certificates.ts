/**
 * Certificates of the webhook server: an authority of its own and a serving certificate signed by it. Pure but for the
 * keys it makes: time is passed in, and where the certificates are kept is the caller's business.
 */
import { createPrivateKey, randomBytes, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { issueCertificate, makeAuthority, validFor } from '../../runtime/x509.js';

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
    // A name of its own tells successive authorities apart where a bundle holds several.
    const name = `drover webhook authority ${randomBytes(4).toString('hex')}`;
    const made = await makeAuthority(name, validFor(now, lifetimes.authorityMs));
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
  const serving = await issueCertificate(
    { cert: authority.toString(), key: caKey },
    {
      commonName: 'drover webhook',
      hosts,
      usage: ['server'],
      validity: validFor(now, lifetimes.servingMs),
    },
  );
  return { material: { caBundle, caKey, ...serving }, changed: true };
}

/** From when until when a certificate is valid. */
export interface Validity {
  from: Date;
  until: Date;
}

/** When a certificate is valid; undefined when it cannot be read. */
export function validityOf(cert: string): Validity | undefined {
  const found = read(cert);
  return found === undefined ? undefined : { from: new Date(found.validFrom), until: endOf(found) };
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
