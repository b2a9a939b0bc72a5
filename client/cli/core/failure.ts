import { GROUP } from '../../../api/core/group.js';
import { KubeError } from '../../../kube/error.js';
import { CliError } from './cli-error.js';
import { EXIT } from './exit-codes.js';

/** A failure as it is shown. */
export interface Failure {
  message: string;
  hints: readonly string[];
  exitCode: number;
}

/** What went wrong and what to do about it, for any error that a command ends with. */
export function describeFailure(error: unknown, options: { program: string; verbose: boolean }): Failure {
  const { program, verbose } = options;
  const trace = verbose && error instanceof Error && error.stack !== undefined ? [error.stack] : [];
  if (error instanceof CliError) {
    return { message: error.message, hints: [...error.hints, ...trace], exitCode: error.exitCode };
  }
  const silent = error instanceof KubeError ? whyNotCalled(error) : undefined;
  if (silent !== undefined) {
    return {
      message:
        'the bridge does not answer, and without it nothing can be created or changed; nothing was done',
      hints: [
        `is it up? "${program} status" says; "${program} up" starts again what has died`,
        'on a cluster of your own: kubectl -n drover-system get pods; if the bridge is ready there, the API server does not reach it: let it through firewalls and NetworkPolicies to the port of the webhooks (9443)',
        `what the API server says: ${silent}`,
        ...trace,
      ],
      exitCode: EXIT.error,
    };
  }
  if (error instanceof KubeError) {
    const hints = [...kubeHints(error, program), ...trace];
    return { message: ownRefusal(error) ?? error.message, hints, exitCode: EXIT.error };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { message, hints: trace, exitCode: EXIT.error };
}

/** How the API server reports that a webhook has refused, and why. */
const DENIAL = /^admission webhook "([^"]*)" denied the request: (.*)$/s;

/** Why Drover's own admission has refused, without the API server's words around it. */
function ownRefusal({ message }: KubeError): string | undefined {
  const [, webhook = '', why = ''] = DENIAL.exec(message) ?? [];
  return webhook.endsWith(`.${GROUP}`) ? `refused: ${why}` : undefined;
}

/** How the API server reports that it cannot call a webhook. */
const CALL_FAILED = /failed calling webhook "([^"]*)": (.*)$/s;

/** Why the API server cannot call Drover's own admission, which the bridge serves; undefined for all other errors. */
export function whyNotCalled({ message }: KubeError): string | undefined {
  const [, webhook = '', why = ''] = CALL_FAILED.exec(message) ?? [];
  return webhook.endsWith(`.${GROUP}`) ? why.replace(/^failed to call webhook: /, '') : undefined;
}

/** A refusal by admission has the code of a missing right, and nothing to do with rights. */
function forbiddenHints(error: KubeError): string[] {
  if (ownRefusal(error) !== undefined) return [];
  const [, webhook] = DENIAL.exec(error.message) ?? [];
  if (webhook !== undefined || error.message.startsWith('ValidatingAdmissionPolicy'))
    return [
      `a rule of this cluster refuses it${webhook === undefined ? '' : `: webhook ${webhook}`}; ask who keeps it`,
    ];
  return ['ask for the right, or use a --context that has it'];
}

function kubeHints(error: KubeError, program: string): string[] {
  if (error.reason === 'KindNotFound') {
    return [`the definitions are missing: "${program} up" applies them, or use kubectl apply -f deploy/crds`];
  }
  if (error.reason === 'Unreachable') {
    return [`is it up? "${program} status" says; "${program} up" starts again what has died`];
  }
  switch (error.code) {
    case 401:
      return [
        'the credentials of the kubeconfig are not accepted; log in again, or choose another --context',
      ];
    case 403:
      return forbiddenHints(error);
    default:
      // Admission's message already says what the causes say one by one.
      return (error.details?.causes ?? [])
        .filter(({ message = '' }) => message === '' || !error.message.includes(message))
        .map(({ field, message }) => `${field ?? ''}: ${message ?? ''}`);
  }
}
