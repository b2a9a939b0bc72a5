import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { createTransport } from 'nodemailer';
import type { Redactor } from '../../../api/core/redact.js';
import type { Policy } from '../../../api/plan/policy.js';
import { causesOf, codeOf } from '../../core/causes.js';
import { EgressRefused } from '../../core/egress.js';
import type { EgressPolicy } from '../../core/egress.js';
import type { Attempt, AttemptResult } from '../../core/handler.js';
import { meetsNoTls } from '../http/http-faults.js';
import type { Message } from './notify-message.js';
import { cutText, printable } from '../../core/text.js';

/** An SMTP server, and how to talk to it. */
export interface MailServer {
  host: string;
  port: number;
  security: 'TLS' | 'StartTLS' | 'None';
  /** Whether its certificate goes unchecked. */
  insecure: boolean;
  credentials?: { user: string; pass: string };
}

/** An e-mail to send. */
export interface Mail {
  server: MailServer;
  message: Message;
  from: string;
  to: string[];
  redact: Redactor;
}

/** Longest silence of a server, in milliseconds; the attempt's own timeout ends it sooner. */
const SILENCE_MS = 30_000;
const DETAIL_CHARACTERS = 300;

/**
 * Sends an e-mail over a connection that the egress policy made. Its Message-ID is made from the idempotency key, so that
 * a mail system can drop a repetition.
 */
export async function sendMail(mail: Mail, attempt: Attempt, egress: EgressPolicy): Promise<AttemptResult> {
  const { server, message } = mail;
  const shown = showServer(server);
  const refused = mailRefusal(server, attempt.policy, egress);
  if (refused !== undefined) return refused;
  attempt.beforeEffect();
  let socket: Socket | undefined;
  try {
    socket = await egress.connect({ host: server.host, port: server.port, signal: attempt.signal });
    const transport = createTransport({
      host: server.host,
      port: server.port,
      connection: socket,
      secure: server.security === 'TLS',
      requireTLS: server.security === 'StartTLS',
      ignoreTLS: server.security === 'None',
      tls: { rejectUnauthorized: !server.insecure },
      ...(server.credentials !== undefined && { auth: server.credentials }),
      greetingTimeout: SILENCE_MS,
      socketTimeout: SILENCE_MS,
      // A template is text, never a file or an address to fetch.
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    const close = (): void => {
      socket?.destroy();
    };
    attempt.signal.addEventListener('abort', close, { once: true });
    if (attempt.signal.aborted) close();
    try {
      const sent = (await transport.sendMail({
        from: mail.from,
        to: mail.to,
        subject: message.subject,
        text: message.text,
        date: message.time,
        messageId: `<${createHash('sha256').update(message.key).digest('hex').slice(0, 40)}@drover.invalid>`,
        headers: { 'Auto-Submitted': 'auto-generated' },
      })) as { rejected: unknown[] };
      const refused = sent.rejected.length;
      const count = mail.to.length - refused;
      return {
        kind: 'succeeded',
        message: `${shown} was taken for ${count} ${count === 1 ? 'receiver' : 'receivers'}${refused === 0 ? '' : `, refused for ${refused}`}`,
      };
    } finally {
      attempt.signal.removeEventListener('abort', close);
      transport.close();
    }
  } catch (error) {
    if (attempt.signal.aborted) {
      return {
        kind: 'interrupted',
        effect: socket === undefined ? 'None' : 'Unknown',
        message: `${shown} was not sent to its end`,
      };
    }
    return explain(error, shown, mail.redact);
  } finally {
    socket?.destroy();
  }
}

const showServer = ({ host, port }: MailServer): string => `the e-mail by ${host}:${port}`;

/** Why an e-mail may not be sent, as far as that is known before the name of the server is resolved. */
export function mailRefusal(
  server: MailServer,
  policy: Policy,
  egress: EgressPolicy,
): Extract<AttemptResult, { kind: 'failed' }> | undefined {
  const refuse = (reason: string, why: string) =>
    ({
      kind: 'failed',
      reason,
      message: `${showServer(server)} is not allowed: ${why}`,
      effect: 'None',
    }) as const;
  const forbidden = policy.refuseHost(server.host, server.port);
  if (forbidden !== undefined) return refuse('PolicyRefused', forbidden);
  const refused = egress.refuseHost(server.host, server.port);
  return refused === undefined ? undefined : refuse('EgressRefused', refused);
}

const CERTIFICATE = /certificate|self-signed|SSL routines/i;

/** SMTP's 4yz answers may change by themselves, 5yz do not (RFC 5321, 4.2.1). */
function explain(error: unknown, shown: string, redact: Redactor): AttemptResult {
  const chain = causesOf(error);
  const codes = new Set(chain.map(codeOf));
  const responseCode = chain.map(answerOf).find((code) => code !== undefined);
  const told = (text: string): string => cutText(printable(redact(text)), DETAIL_CHARACTERS, '…');
  const refused = chain.find((link) => link instanceof EgressRefused);
  if (refused !== undefined) {
    return {
      kind: 'failed',
      reason: 'EgressRefused',
      message: `${shown} is not allowed: ${told(refused.message)}`,
      effect: 'None',
    };
  }
  const detail = told(error instanceof Error ? error.message : String(error));
  if (codes.has('EAUTH')) {
    return {
      kind: 'failed',
      reason: 'LoginRefused',
      message: `${shown}: login was refused: ${detail}`,
      effect: 'None',
    };
  }
  // The library puts its own code over that of a certificate that was not accepted.
  if (meetsNoTls(error)) {
    return {
      kind: 'failed',
      reason: 'TLSError',
      message: `${shown}: the server does not speak TLS on this port; use security StartTLS, or the port that serves TLS`,
      effect: 'None',
    };
  }
  if (codes.has('ETLS') || (codes.has('ESOCKET') && CERTIFICATE.test(detail))) {
    return {
      kind: 'failed',
      reason: 'TLSError',
      message: `${shown}: no trusted TLS connection: ${detail}`,
      effect: 'None',
    };
  }
  if (responseCode !== undefined && responseCode >= 500) {
    return {
      kind: 'failed',
      reason: 'MailRefused',
      message: `${shown} was refused: ${detail}`,
      effect: 'None',
    };
  }
  return {
    kind: 'retry',
    reason: responseCode === undefined ? 'Unreachable' : 'MailRefused',
    message: `${shown} was not taken: ${detail}`,
    // The server may have taken the mail before the connection broke; its Message-ID stays the same.
    round: responseCode === undefined ? 'Unclear' : 'Refused',
  };
}

/** The three digits that the server answered. */
function answerOf(error: unknown): number | undefined {
  const code = (error as { responseCode?: unknown } | null | undefined)?.responseCode;
  return typeof code === 'number' ? code : undefined;
}
