import { parseDuration } from '../../../../api/core/duration.js';
import { isObject } from '../../../../api/core/json.js';
import { findPlaceholders } from '../../../../api/plan/template/placeholders.js';
import { textsOf } from '../../../../api/plan/validate/sample.js';
import type { Edit, Finding, RuleInput, RuleOutput } from './finding.js';

const DEFAULT_TIMEOUT_MS = 300_000;
type Path = readonly (string | number)[];
type Loose = Record<string, unknown>;

const BLOCKS = ['http', 'job', 'localization', 'globalization', 'helmChart', 'subscription', 'resource'];

/** What a DRWorkflow of the original would do differently. */
export function importWorkflow(input: RuleInput): RuleOutput {
  const out: RuleOutput = { findings: [], edits: [] };
  const { spec } = input.object.object;
  const actions = isObject(spec) && Array.isArray(spec.actions) ? (spec.actions as unknown[]) : [];
  for (const [index, action] of actions.entries()) {
    if (!isObject(action)) continue;
    const at: Path = ['spec', 'actions', index];
    importStep(action, at, input, out);
    if (isObject(action.rollback)) {
      const rollback: Loose = { ...action.rollback, type: action.rollback.type ?? action.type };
      importStep(rollback, [...at, 'rollback'], input, out);
    }
  }
  return out;
}

/** An action, or the rollback of one. */
function importStep(action: Loose, at: Path, input: RuleInput, out: RuleOutput): void {
  switch (action.type) {
    case 'Job':
      importJob(action, at, input, out);
      break;
    case 'HTTP':
      importHttp(action, at, input, out);
      break;
    case 'Localization':
    case 'Globalization':
    case 'Subscription':
    case 'KubernetesResource':
      importObject(action, at, input, out);
      break;
    default:
  }
  importTexts(action, at, out);
}

function importJob(action: Loose, at: Path, { choices, written }: RuleInput, out: RuleOutput): void {
  const timeout = typeof action.timeout === 'string' ? action.timeout : undefined;
  const path = [...at, 'timeout'];
  const isDefault = timeout === undefined || parseDuration(timeout) === DEFAULT_TIMEOUT_MS;
  // A person may have meant five minutes; nobody can tell once the original has stored the same.
  const isOwn = timeout !== undefined && written(path) === 'yes';
  const heeded = 'the original called a Job Succeeded as soon as it was created, and never heeded a timeout';
  if (isDefault && !isOwn) {
    const longest = choices.jobTimeout ?? deadlineOf(action);
    if (longest !== undefined) {
      out.edits.push({ op: 'set', path, value: longest });
      say(
        out,
        'changed',
        'JobTimeout',
        path,
        `becomes ${longest}: ${heeded}; here the action waits for the Job`,
      );
    } else {
      say(
        out,
        'differs',
        'JobTimeout',
        path,
        `is 5m: ${heeded}; here the action waits for the Job, and one that takes longer is deleted and Failed. Write the longest time the Job may take`,
      );
    }
  } else {
    say(
      out,
      'differs',
      'JobTimeout',
      path,
      `is ${String(timeout)}: ${heeded}; here a Job that takes longer is deleted and Failed`,
    );
  }
  if (isObject(action.retryPolicy) && !isStoredPolicy(action.retryPolicy)) {
    say(
      out,
      'differs',
      'JobRetried',
      [...at, 'retryPolicy'],
      'runs a failed Job again, beside the backoffLimit of the Job; the original never did',
    );
  }
  const job = isObject(action.job) ? action.job : {};
  if (hasPlaceholder(job.template)) {
    say(
      out,
      'differs',
      'JobTemplateFilledIn',
      [...at, 'job', 'template'],
      'holds placeholders, which are filled in here; the original left the template as it was written',
    );
  }
}

/** The Job's own deadline, when it is longer than the stored default. */
function deadlineOf(action: Loose): string | undefined {
  const job = isObject(action.job) ? action.job : {};
  const template = isObject(job.template) ? job.template : {};
  const spec = isObject(template.spec) ? template.spec : {};
  const seconds = spec.activeDeadlineSeconds;
  return typeof seconds === 'number' && seconds * 1000 > DEFAULT_TIMEOUT_MS
    ? `${Math.ceil(seconds) + 60}s`
    : undefined;
}

function isStoredPolicy(policy: Loose): boolean {
  return (
    (policy.limit ?? 3) === 3 &&
    parseDuration(typeof policy.interval === 'string' ? policy.interval : '5s') === 5000 &&
    Number(policy.backoffMultiplier ?? 2) === 2
  );
}

function importHttp(action: Loose, at: Path, { written }: RuleInput, out: RuleOutput): void {
  const policy = isObject(action.retryPolicy) ? action.retryPolicy : undefined;
  const path = [...at, 'retryPolicy'];
  if (policy?.limit === 0) {
    say(
      out,
      'differs',
      'NoRetry',
      [...path, 'limit'],
      'is 0, which means one attempt; for the original it meant the default of three retries',
    );
  } else if (policy !== undefined && written(path) !== 'no' && !isStoredPolicy(policy)) {
    say(
      out,
      'differs',
      'ClientErrorsNotRetried',
      path,
      'repeats on network errors, 408, 425, 429 and 5xx; the original repeated on every other status too',
    );
  }
  const timeout = [...at, 'timeout'];
  if (typeof action.timeout === 'string' && parseDuration(action.timeout) !== DEFAULT_TIMEOUT_MS) {
    say(
      out,
      'note',
      'HttpTimeout',
      timeout,
      `is ${action.timeout} for each attempt; the original gave each one 30s, whatever was written`,
    );
  }
}

function importObject(action: Loose, at: Path, input: RuleInput, out: RuleOutput): void {
  const field = {
    Localization: 'localization',
    Globalization: 'globalization',
    Subscription: 'subscription',
    KubernetesResource: 'resource',
  }[action.type as string] as string;
  const block = isObject(action[field]) ? action[field] : {};
  const operation =
    typeof block.operation === 'string' && block.operation !== '' ? block.operation : 'Create';
  const where = [...at, field, 'operation'];
  // Globalizations came with the releases that patch and delete.
  if (action.type === 'Globalization') {
    importOverride(block, [...at, field], operation, input, out);
    return;
  }
  if (operation === 'Patch') {
    const before =
      action.type === 'KubernetesResource'
        ? 'the original refused it at run time'
        : action.type === 'Subscription'
          ? 'the original tried to create the Subscription and failed'
          : 'early releases of the original created a Localization instead';
    say(out, 'differs', 'PatchWorks', where, `is Patch, which changes the object here; ${before}`);
  } else if (operation === 'Delete' && action.type !== 'KubernetesResource') {
    say(
      out,
      'differs',
      'DeleteWorks',
      where,
      'is Delete, which deletes the object here; early releases of the original created one instead',
    );
  }
  if (
    action.type === 'Subscription' &&
    hasPlaceholder([block.subscribers, isObject(block.spec) ? block.spec.subscribers : undefined])
  ) {
    say(
      out,
      'differs',
      'SubscribersFilledIn',
      [...at, field],
      'subscribers hold placeholders, which are filled in here; the original left them as they were written',
    );
  }
  if (
    action.clusterExecutionMode === 'PerCluster' &&
    action.type === 'Subscription' &&
    action.waitReady === true
  ) {
    say(
      out,
      'differs',
      'PerClusterNames',
      [...at, 'clusterExecutionMode'],
      'writes Subscriptions named <name>--<namespace>.<cluster>; those of the original, <name>--<cluster>, stay beside them: delete them once the new ones are there',
    );
  }
  if (action.type === 'Localization') importOverride(block, [...at, field], operation, input, out);
}

function importOverride(block: Loose, at: Path, operation: string, input: RuleInput, out: RuleOutput): void {
  const nested = isObject(block.spec);
  const body: Loose = isObject(block.spec) ? block.spec : block;
  const base = nested ? [...at, 'spec'] : at;
  if (operation === 'Delete') return;
  if (body.overridePolicy === 'ApplyLater') {
    dropDefault([...base, 'overridePolicy'], input, out, {
      code: 'ApplyLater',
      changed:
        'is removed: the original stored ApplyLater where nothing was written, and with it an override changes nothing that already runs; absent it means ApplyNow here',
      kept: 'is ApplyLater, so the override changes nothing that already runs. The original stored this where nothing was written: remove it, unless it was meant',
    });
  }
  if (operation === 'Patch' && body.priority === 500) {
    dropDefault([...base, 'priority'], input, out, {
      code: 'PatchedPriority',
      changed:
        'is removed: the original stored 500 where nothing was written, and a patch would reset the priority of the object to it',
      kept: 'is 500, to which the patch sets the priority of the object. The original stored this where nothing was written: remove it, unless it was meant',
    });
  }
}

function dropDefault(
  path: Path,
  { choices, written }: RuleInput,
  out: RuleOutput,
  text: { code: string; changed: string; kept: string },
): void {
  const author = written(path);
  if (author === 'no' || (author === 'unknown' && choices.dropStoredDefaults === true)) {
    out.edits.push({ op: 'remove', path });
    say(out, 'changed', text.code, path, text.changed);
  } else {
    say(out, 'differs', text.code, path, text.kept);
  }
}

const FOREIGN = /\{\{[^{}]*\}\}/g;

function importTexts(action: Loose, at: Path, out: RuleOutput): void {
  for (const field of BLOCKS) {
    const path = [...at, field];
    const texts = textsOf(action[field]);
    const foreign = new Set<string>();
    let dashed: string | undefined;
    let named = false;
    for (const text of texts) {
      const { placeholders } = findPlaceholders(text);
      const taken = new Set(placeholders.map((one) => one.text));
      for (const [found] of text.matchAll(FOREIGN)) if (!taken.has(found)) foreign.add(found);
      for (const { text: written, reference } of placeholders) {
        if (reference.kind === 'param' && written.startsWith('$(') && /[_-]/.test(reference.name))
          dashed ??= written;
        if (reference.kind === 'builtIn' && reference.name === 'planName') named = true;
      }
    }
    const [first] = foreign;
    if (first !== undefined) {
      say(
        out,
        'differs',
        'ForeignTemplate',
        path,
        `holds ${first.slice(0, 60)}, which stays as it is written; early releases of the original read it as a Go template`,
      );
    }
    if (dashed !== undefined) {
      say(
        out,
        'differs',
        'PlaceholderFilledIn',
        path,
        `holds ${dashed}, which is filled in; the original left names with "_" or "-" as they were written`,
      );
    }
    if (named)
      say(
        out,
        'differs',
        'PlanNameFilledIn',
        path,
        'holds planName, which is the name of the plan here; for the original it was empty',
      );
  }
}

const hasPlaceholder = (value: unknown): boolean =>
  textsOf(value).some((text) => findPlaceholders(text).placeholders.length > 0);

function say(
  out: { findings: Finding[]; edits: Edit[] },
  effect: Finding['effect'],
  code: string,
  path: Path,
  message: string,
): void {
  out.findings.push({ effect, code, path: pathText(path), message });
}

/** A path as messages show it. */
export function pathText(path: Path): string {
  return path.reduce<string>(
    (text, segment) =>
      typeof segment === 'number' ? `${text}[${segment}]` : text === '' ? segment : `${text}.${segment}`,
    '',
  );
}
