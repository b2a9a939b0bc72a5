import { causesOf, codeOf } from '../../core/causes.js';
import { EgressRefused } from '../../core/egress.js';
import { printable } from '../../core/text.js';

/** Why there is no usable answer. */
export type BrokenReason =
  | 'EgressRefused'
  | 'InvalidRequest'
  | 'InvalidResponse'
  | 'TLSError'
  | 'Unreachable'
  | 'ConnectionLost';

/** What an error of the HTTP client means. */
export interface Fault {
  reason: BrokenReason;
  detail: string;
}

/** Codes of certificates that are not accepted. */
const CERTIFICATE_CODES = new Set([
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REVOKED',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'HOSTNAME_MISMATCH',
  'INVALID_CA',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);
const CERTIFICATE_HINT =
  'correct the certificate, trust its CA (NODE_EXTRA_CA_CERTS of the worker), or set insecureSkipVerify';
/** Most characters that are quoted from an answer that is not HTTP. */
const QUOTED_CHARACTERS = 60;

/** The fault of a server that answers a plain request with TLS. */
export const SPEAKS_TLS: Fault = {
  reason: 'InvalidResponse',
  detail: 'the server speaks TLS on this port; use https in the URL',
};

/**
 * What an error means, judged by it and all its causes: a parser's error may carry no code at all, and the decisive one
 * may be wrapped in another.
 */
export function faultOf(error: unknown, { sent }: { sent: boolean }): Fault {
  const chain = causesOf(error);
  const inner = chain.at(-1);
  const detail = inner instanceof Error ? inner.message || (codeOf(inner) ?? inner.name) : String(inner);
  for (const link of chain) {
    const fault = knownFault(link, detail);
    if (fault !== undefined) return fault;
  }
  return { reason: sent ? 'ConnectionLost' : 'Unreachable', detail };
}

/** Whether TLS failed because the other side does not speak it. */
export const meetsNoTls = (error: unknown): boolean =>
  causesOf(error).some(
    (link) => NO_TLS.test(codeOf(link) ?? '') || (link instanceof Error && NO_TLS_WORDS.test(link.message)),
  );

/** Whether the server ended the connection without a word. */
export const isSilentEnd = (error: unknown): boolean =>
  causesOf(error).some((link) => ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes(codeOf(link) ?? ''));

function knownFault(error: unknown, detail: string): Fault | undefined {
  if (error instanceof EgressRefused) return { reason: 'EgressRefused', detail: error.message };
  const code = codeOf(error) ?? '';
  if (code === 'UND_ERR_INVALID_ARG') return { reason: 'InvalidRequest', detail };
  if (code === 'UND_ERR_HEADERS_OVERFLOW')
    return { reason: 'InvalidResponse', detail: 'its headers are too large' };
  if (error instanceof Error && (error.name === 'HTTPParserError' || code.startsWith('HPE_')))
    return notHttp(error);
  if (CERTIFICATE_CODES.has(code)) {
    return {
      reason: 'TLSError',
      detail: `the server's certificate was not accepted: ${detail}; ${CERTIFICATE_HINT}`,
    };
  }
  if (code.startsWith('ERR_SSL_') || code === 'EPROTO') return tlsFault(error, code);
  return undefined;
}

function notHttp(error: Error): Fault {
  const { data } = error as { data?: unknown };
  const text = Buffer.isBuffer(data) ? data.toString('latin1') : typeof data === 'string' ? data : '';
  // A TLS alert record: what a TLS server says to a request in the clear.
  if (text.startsWith('\x15\x03')) return SPEAKS_TLS;
  const quoted = printable(text.slice(0, QUOTED_CHARACTERS));
  return {
    reason: 'InvalidResponse',
    detail:
      quoted === '' || !/Expected HTTP/.test(error.message)
        ? error.message
        : `what answers there is no HTTP server, it says ${JSON.stringify(quoted)}; check host and port`,
  };
}

/** Codes that OpenSSL gives when the answer is no TLS record. */
const NO_TLS =
  /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|RECORD_LAYER_FAILURE|UNEXPECTED_MESSAGE|HTTP_REQUEST/;
/** The same errors in words, for clients that replace the code with one of their own. */
const NO_TLS_WORDS =
  /SSL routines:[^:]*:(wrong version number|packet length too long|record layer failure|unexpected message|http request)/i;

function tlsFault(error: unknown, code: string): Fault {
  const { reason, message } = error as { reason?: unknown; message?: string };
  if (NO_TLS.test(code)) {
    return {
      reason: 'TLSError',
      detail: 'what answers there does not speak TLS; use http in the URL, or the port that serves https',
    };
  }
  const said =
    typeof reason === 'string' ? reason : (/SSL routines:[^:]*:([^:]+)/.exec(message ?? '')?.[1] ?? code);
  return {
    reason: 'TLSError',
    detail: `no TLS connection could be agreed on (${said}); check which TLS versions and certificates the server asks for`,
  };
}
