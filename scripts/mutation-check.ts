/**
 * Breaks one promise at a time in a copy of the source, and looks whether something notices: `npm run mutation-check`.
 * `npm run mutation-check -- NAME…` breaks only those. Ends with 1 when a break goes unnoticed.
 */
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** A promise, how it is broken, and who has to notice. */
interface Mutation {
  name: string;
  breaks: string;
  /** One for each place that keeps the promise: breaking one must not leave another to keep it. */
  edits: readonly Edit[];
  guards: readonly Guard[];
}

interface Edit {
  file: string;
  /** Must stand in the file exactly once. */
  from: string;
  to: string;
}

/** Fails when it notices. */
type Guard =
  | { kind: 'tests'; files: readonly string[] }
  /** Tests on the real servers. */
  | { kind: 'servers'; files: readonly string[] }
  /** The fault harness, with these arguments. */
  | { kind: 'faults'; args: readonly string[] };

const MUTATIONS: readonly Mutation[] = [
  {
    name: 'idempotency',
    breaks: 'every process sends keys of its own',
    edits: [
      {
        file: 'activities/core/prepare.ts',
        from: '}),\n    round: inherited.round,\n    signal',
        to: '}) + `-${process.pid}`,\n    round: inherited.round,\n    signal',
      },
    ],
    guards: [{ kind: 'faults', args: ['--only', 'effect-http×worker', '--faults', '2', '--seconds', '240'] }],
  },
  {
    name: 'doubt',
    breaks: 'a refusal gives a new key although an attempt before it may have had its effect',
    edits: [
      {
        file: 'activities/core/series.ts',
        from: 'return (progress.clearTo ?? 0) >= attempt - 1;',
        to: 'return (progress.clearTo ?? 0) >= 0;',
      },
    ],
    guards: [
      { kind: 'tests', files: ['activities/core/attempt.test.ts'] },
      { kind: 'faults', args: ['--only', 'effect-http×worker', '--faults', '2', '--seconds', '240'] },
    ],
  },
  {
    name: 'adoption',
    breaks: 'what an attempt has made is not known to the next',
    edits: [
      {
        file: 'activities/core/marks.ts',
        from: 'return found !== undefined && withoutRound(found) === withoutRound(key);',
        to: 'return found === undefined && withoutRound(key) === "";',
      },
    ],
    guards: [{ kind: 'faults', args: ['--only', 'effect-job×worker', '--faults', '2', '--seconds', '240'] }],
  },
  {
    name: 'lock',
    breaks: 'a plan is given to whoever asks',
    edits: [
      {
        file: 'crd-bridge/plan/lock/plan-state.ts',
        from: 'if (holder !== undefined && !holds(holder, execution)) return undefined;',
        to: 'if (holder !== undefined && holder.name === "") return undefined;',
      },
    ],
    guards: [
      { kind: 'tests', files: ['crd-bridge/plan/lock/plan-state.test.ts'] },
      { kind: 'faults', args: ['--only', 'lock×worker', '--faults', '4', '--seconds', '240'] },
    ],
  },
  {
    name: 'redaction',
    breaks: 'secrets are not taken out of what is reported',
    edits: [
      {
        file: 'api/core/redact.ts',
        from: "clean.replaceAll(form, '[redacted]')",
        to: "clean.replaceAll(form, form === '' ? '[redacted]' : form)",
      },
    ],
    guards: [
      {
        kind: 'tests',
        files: ['activities/actions/http/http.test.ts', 'activities/actions/notify/notify.test.ts'],
      },
      {
        kind: 'faults',
        args: ['--only', 'effect-http×worker', '--kind', 'short', '--faults', '2', '--seconds', '240'],
      },
    ],
  },
  {
    name: 'impersonation',
    breaks: 'actions act as the controller, whatever account the plan names',
    // The check of the own identity would keep every action from acting.
    edits: [
      {
        file: 'activities/core/identity.ts',
        from: 'return { ok: true, kube: home.as({ user: identityName(run) }) };',
        to: 'return { ok: true, kube: home };',
      },
      { file: 'activities/core/identity.ts', from: 'if (who !== user) {', to: "if (who === '') {" },
    ],
    guards: [
      { kind: 'tests', files: ['activities/core/attempt.test.ts', 'activities/core/identity.test.ts'] },
      {
        kind: 'faults',
        args: ['--only', 'effect-http×worker', '--kind', 'trespass', '--faults', '2', '--seconds', '240'],
      },
    ],
  },
  {
    name: 'seal',
    breaks: 'a seal counts for any value',
    edits: [
      {
        file: 'api/core/seal.ts',
        from: "return isRight ? { kind: 'sealed' } : { kind: 'wrong' };",
        to: "return isRight || text !== '' ? { kind: 'sealed' } : { kind: 'wrong' };",
      },
    ],
    guards: [
      { kind: 'tests', files: ['api/core/seal.test.ts'] },
      { kind: 'tests', files: ['test/fuzz/seals.test.ts', 'activities/core/vouching.test.ts'] },
    ],
  },
  {
    name: 'seal-caller',
    breaks: 'what is sealed for one run is done for any workflow that asks',
    edits: [
      {
        file: 'workflows/plan/sealed.ts',
        from: 'return caller !== undefined && callers.includes(caller)',
        to: 'return callers.length > 0',
      },
    ],
    guards: [{ kind: 'tests', files: ['test/fuzz/seals.test.ts', 'activities/core/vouching.test.ts'] }],
  },
  {
    name: 'pods-gone',
    breaks: 'a Job that was deleted counts as ended while its pods run',
    edits: [
      {
        file: 'activities/actions/job/job-pods.ts',
        from: 'const pods = found.filter(isLive);',
        to: 'const pods = found.filter((pod) => isLive(pod) && pod.metadata.deletionTimestamp === undefined);',
      },
    ],
    guards: [{ kind: 'tests', files: ['activities/actions/job/job-pods.test.ts'] }],
  },
  {
    name: 'field-manager',
    breaks: 'all actions write under one field manager, so that one takes back what another has set',
    edits: [
      {
        file: 'activities/core/prepare.ts',
        from: 'return fieldManager({ planName: task.run.plan.name, actionName: body.action.name, digest });',
        to: 'return digest === "none" ? fieldManager({ planName: "", actionName: "", digest }) : FIELD_MANAGER;',
      },
    ],
    guards: [{ kind: 'servers', files: ['test/field/objects.test.ts'] }],
  },
  {
    name: 'strict-validation',
    breaks: 'fields that a kind does not have are dropped without a word',
    edits: [
      {
        file: 'activities/actions/objects/object-effect.ts',
        from: "direction === 'undo' ? undefined : fieldValidation",
        to: "direction === 'undo' || fieldValidation === 'Strict' ? undefined : fieldValidation",
      },
    ],
    guards: [{ kind: 'servers', files: ['test/field/objects.test.ts'] }],
  },
];

/** A copy of all that is versioned or about to be. */
function copySource(): string {
  const root = mkdtempSync(join(tmpdir(), 'drover-mutation-'));
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    encoding: 'utf8',
  });
  for (const file of files.split('\n').filter((name) => name !== '')) {
    mkdirSync(join(root, dirname(file)), { recursive: true });
    cpSync(file, join(root, file));
  }
  symlinkSync(join(process.cwd(), 'node_modules'), join(root, 'node_modules'));
  return root;
}

/** Applies a mutation, and gives back by which it is undone. */
function mutate(root: string, { name, edits }: Mutation): () => void {
  const originals = new Map<string, string>();
  for (const { file, from, to } of edits) {
    const path = join(root, file);
    const source = readFileSync(path, 'utf8');
    if (!originals.has(path)) originals.set(path, source);
    if (source.split(from).length !== 2) {
      throw new Error(
        `mutation "${name}": ${file} does not have exactly one ${JSON.stringify(from)}; bring scripts/mutation-check.ts up to date`,
      );
    }
    writeFileSync(
      path,
      source.replace(from, () => to),
    );
  }
  return () => {
    for (const [path, source] of originals) writeFileSync(path, source);
  };
}

/** Runs a program; resolves to its exit code. */
function run(root: string, program: string, args: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
    child.once('error', reject);
    child.once('exit', (code) => {
      resolve(code ?? 1);
    });
  });
}

const bin = (name: string): string => join('node_modules', '.bin', name);

async function build(root: string): Promise<void> {
  if ((await run(root, bin('tsc'), ['-p', 'tsconfig.build.json'])) !== 0) {
    throw new Error('the broken source does not compile: a mutation must change what it does only');
  }
  if ((await run(root, process.execPath, ['dist/scripts/bundle.js'])) !== 0) throw new Error('no bundle');
}

async function notices(root: string, guard: Guard): Promise<boolean> {
  switch (guard.kind) {
    case 'tests':
      return (await run(root, bin('vitest'), ['run', ...guard.files])) !== 0;
    case 'servers':
      await build(root);
      return (
        (await run(root, bin('vitest'), [
          'run',
          '--config',
          'vitest.integration.config.ts',
          ...guard.files,
        ])) !== 0
      );
    case 'faults': {
      await build(root);
      if ((await run(root, bin('tsc'), ['-p', 'tsconfig.faults.json'])) !== 0) throw new Error('no harness');
      return (await run(root, process.execPath, ['dist/test/faults/main.js', ...guard.args])) === 1;
    }
  }
}

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !MUTATIONS.some((mutation) => mutation.name === name));
if (unknown.length > 0) {
  console.error(
    `no mutation "${unknown.join('", "')}"; there are: ${MUTATIONS.map(({ name }) => name).join(', ')}`,
  );
  process.exit(2);
}

const root = copySource();
const lines: string[] = [];
let survived = 0;
try {
  for (const mutation of MUTATIONS.filter(({ name }) => wanted.length === 0 || wanted.includes(name))) {
    const restore = mutate(root, mutation);
    for (const guard of mutation.guards) {
      const who = guard.kind === 'faults' ? `faults ${guard.args.join(' ')}` : guard.files.join(', ');
      console.log(`\n── ${mutation.name}: ${mutation.breaks}; looked for by ${who}`);
      const noticed = await notices(root, guard);
      if (!noticed) survived += 1;
      lines.push(`${noticed ? 'noticed     ' : 'NOT NOTICED '} ${mutation.name.padEnd(14)} by ${who}`);
    }
    restore();
  }
} finally {
  rmSync(root, { recursive: true, force: true });
}
console.log(`\n${lines.join('\n')}\n\n${survived} not noticed`);
process.exit(survived === 0 ? 0 : 1);
