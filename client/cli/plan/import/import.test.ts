import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { isDrObject, pickObjects } from '../manifests/objects.js';
import { NO_SURROUNDINGS } from '../manifests/surroundings.js';
import { parseManifests, type ParsedFile } from '../manifests/parse.js';
import { importObjects, type ImportedObject } from './convert.js';
import type { ImportChoices } from './finding.js';
import { rewriteFiles, writeConverted } from './write.js';

type Loose = Record<string, unknown>;
const API = 'dr.bkbcs.tencent.com/v1alpha1';

const object = (kind: string, name: string, spec: Loose, more: Loose = {}): Loose => ({
  apiVersion: API,
  kind,
  metadata: { name, namespace: 'shop', ...(more.metadata as Loose | undefined) },
  spec,
  ...('status' in more && { status: more.status }),
});
/** As a cluster returns it, with what kubectl remembers of what was applied. */
const stored = (kind: string, name: string, spec: Loose, applied?: Loose, status?: Loose): Loose =>
  object(kind, name, spec, {
    metadata: {
      uid: 'u1',
      ...(applied !== undefined && {
        annotations: {
          'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify({ spec: applied }),
        },
      }),
    },
    ...(status !== undefined && { status }),
  });
const workflow = (actions: Loose[]): Loose => ({ actions });
const plan = (more: Loose = {}, stage: Loose = {}): Loose => ({
  serviceAccountName: 'dr',
  stages: [{ name: 'a', workflows: [{ workflowRef: { name: 'w', namespace: 'shop' } }], ...stage }],
  ...more,
});

function run(
  objects: Loose[],
  choices: ImportChoices = {},
): { files: ParsedFile[]; imported: ImportedObject[] } {
  const files = objects.map((one, index) => parseManifests({ file: `f${index}`, text: JSON.stringify(one) }));
  const picked = pickObjects(
    files.flatMap((file) => file.objects),
    'default',
  );
  return { files, imported: importObjects(picked.objects.filter(isDrObject), choices, NO_SURROUNDINGS) };
}
const findings = (one: Loose, choices?: ImportChoices, ...others: Loose[]): string[] =>
  run([one, ...others], choices)
    .imported[0]!.findings.map(({ effect, code, path }) => `${effect} ${code} ${path}`)
    .filter((line) => !line.includes('WorkflowNotFound'));
const converted = (one: Loose, choices?: ImportChoices): Loose | undefined =>
  run([one], choices).imported[0]!.converted;

const pod = { restartPolicy: 'Never', containers: [{ name: 'c', image: 'x' }] };
const job = (more: Loose = {}, spec: Loose = {}): Loose => ({
  name: 'sync',
  type: 'Job',
  job: { namespace: 'shop', template: { spec: { template: { spec: pod }, ...spec } } },
  ...more,
});
const localization = (spec: Loose, operation = 'Create', more: Loose = {}): Loose => ({
  name: 'scale',
  type: 'Localization',
  localization: {
    name: 'web',
    namespace: 'clusternet-a',
    operation,
    spec: { feed: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }, ...spec },
  },
  ...more,
});

describe('Jobs', () => {
  const at = 'spec.actions[0].timeout';

  it('are waited for, so that a stored timeout may cut them short', () => {
    expect(findings(stored('DRWorkflow', 'w', workflow([job({ timeout: '5m' })])))).toEqual([
      `differs JobTimeout ${at}`,
    ]);
    expect(findings(object('DRWorkflow', 'w', workflow([job()])))).toEqual([`differs JobTimeout ${at}`]);
  });

  it('take the timeout that a person decided, or their own deadline', () => {
    const five = stored('DRWorkflow', 'w', workflow([job({ timeout: '5m' })]));
    expect(converted(five, { jobTimeout: '2h' })).toMatchObject({ spec: { actions: [{ timeout: '2h' }] } });
    const own = stored(
      'DRWorkflow',
      'w',
      workflow([job({ timeout: '5m' }, { activeDeadlineSeconds: 3600 })]),
    );
    expect(findings(own)).toEqual([`changed JobTimeout ${at}`]);
    expect(converted(own)).toMatchObject({ spec: { actions: [{ timeout: '3660s' }] } });
  });

  it('keep a timeout that was written on purpose', () => {
    const written = object('DRWorkflow', 'w', workflow([job({ timeout: '5m' })]));
    expect(converted(written, { jobTimeout: '2h' })).toMatchObject({
      spec: { actions: [{ timeout: '5m' }] },
    });
  });

  it('are run again by a policy that was not the stored one, and have their template filled in', () => {
    const retryPolicy = { limit: 1, interval: '5s', backoffMultiplier: '2.0' };
    const template = { spec: { template: { spec: { ...pod, nodeName: '$(planName)' } } } };
    const found = findings(
      object('DRWorkflow', 'w', workflow([{ ...job({ retryPolicy }), job: { template } }])),
    );
    expect(found).toEqual([
      `differs JobTimeout ${at}`,
      'differs JobRetried spec.actions[0].retryPolicy',
      'differs JobTemplateFilledIn spec.actions[0].job.template',
      'differs PlanNameFilledIn spec.actions[0].job',
    ]);
  });
});

describe('stored defaults of Localizations', () => {
  const spec = workflow([localization({ overridePolicy: 'ApplyLater', priority: 500 })]);
  const path = 'spec.actions[0].localization.spec.overridePolicy';

  it('go where kubectl remembers that nobody wrote them', () => {
    const one = stored('DRWorkflow', 'w', spec, workflow([localization({})]));
    expect(findings(one)).toEqual([`changed ApplyLater ${path}`]);
    const body = JSON.stringify(converted(one));
    expect(body).not.toContain('ApplyLater');
    expect(body).toContain('"priority":500');
  });

  it('stay where somebody did, or nobody knows', () => {
    const meant = stored('DRWorkflow', 'w', spec, workflow([localization({ overridePolicy: 'ApplyLater' })]));
    for (const one of [meant, stored('DRWorkflow', 'w', spec), object('DRWorkflow', 'w', spec)]) {
      expect(findings(one)).toEqual([`differs ApplyLater ${path}`]);
      expect(JSON.stringify(converted(one))).toContain('ApplyLater');
    }
    const dropped = findings(stored('DRWorkflow', 'w', spec), { dropStoredDefaults: true });
    expect(dropped).toEqual([`changed ApplyLater ${path}`]);
    // In a file they are the author's.
    expect(findings(object('DRWorkflow', 'w', spec), { dropStoredDefaults: true })).toEqual([
      `differs ApplyLater ${path}`,
    ]);
  });

  it('are not taken from a record of other actions', () => {
    const other = workflow([{ ...localization({}), name: 'renamed' }]);
    expect(findings(stored('DRWorkflow', 'w', spec, other))).toEqual([`differs ApplyLater ${path}`]);
  });

  it('of a patch would reset the target', () => {
    const rollback = { localization: { name: 'web', namespace: 'clusternet-a', operation: 'Delete' } };
    const patch = workflow([localization({ priority: 500 }, 'Patch', { rollback })]);
    expect(findings(stored('DRWorkflow', 'w', patch, workflow([localization({}, 'Patch')])))).toEqual([
      'differs PatchWorks spec.actions[0].localization.operation',
      'changed PatchedPriority spec.actions[0].localization.spec.priority',
      'differs DeleteWorks spec.actions[0].rollback.localization.operation',
    ]);
  });

  it('are those of Globalizations too, which never had the faults of early releases', () => {
    const globalization = (spec: Loose, operation: string): Loose => ({
      name: 'scale',
      type: 'Globalization',
      globalization: { name: 'web', operation, spec },
    });
    const patch = workflow([globalization({ overridePolicy: 'ApplyLater', priority: 500 }, 'Patch')]);
    expect(findings(stored('DRWorkflow', 'w', patch, workflow([globalization({}, 'Patch')])))).toEqual([
      'changed ApplyLater spec.actions[0].globalization.spec.overridePolicy',
      'changed PatchedPriority spec.actions[0].globalization.spec.priority',
      'blocked MissingRollback spec.actions[0].globalization.operation',
    ]);
  });
});

describe('Subscriptions per cluster', () => {
  it('have other names here', () => {
    const action = {
      name: 'app',
      type: 'Subscription',
      waitReady: true,
      clusterExecutionMode: 'PerCluster',
      subscription: {
        name: 'app',
        spec: {
          feeds: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'web' }],
          subscribers: [{ clusterAffinity: { matchLabels: { site: 'a' } } }],
        },
      },
    };
    expect(findings(object('DRWorkflow', 'w', workflow([action])))).toEqual([
      'differs PerClusterNames spec.actions[0].clusterExecutionMode',
    ]);
  });
});

describe('HTTP actions', () => {
  const http = (more: Loose, url = 'https://x.example/'): Loose => ({
    name: 'h',
    type: 'HTTP',
    http: { url },
    ...more,
  });
  const of = (action: Loose): string[] => findings(object('DRWorkflow', 'w', workflow([action])));

  it('are retried less, and as often as is written', () => {
    expect(of(http({ retryPolicy: { limit: 9 } }))).toEqual([
      'differs ClientErrorsNotRetried spec.actions[0].retryPolicy',
    ]);
    expect(of(http({ retryPolicy: { limit: 0 } }))).toEqual([
      'differs NoRetry spec.actions[0].retryPolicy.limit',
    ]);
    expect(of(http({ timeout: '2m' }))).toEqual(['note HttpTimeout spec.actions[0].timeout']);
  });

  it('fill in names that stayed, and leave what others own', () => {
    const body = {
      http: { url: 'https://x.example/', method: 'POST', body: '{{ upper "a" }}' },
      rollback: { http: { url: 'https://x.example/' } },
    };
    expect(of(http(body))).toEqual(['differs ForeignTemplate spec.actions[0].http']);
    const dashed = object('DRWorkflow', 'w', {
      ...workflow([http({}, 'https://x.example/$(params.my-site)')]),
      parameters: [{ name: 'my-site', default: 'a' }],
    });
    expect(findings(dashed)).toEqual(['differs PlaceholderFilledIn spec.actions[0].http']);
  });
});

describe('what is not supported', () => {
  it('is refused, by the same check as everywhere', () => {
    const action = { name: 'x', type: 'NoSuchType' };
    expect(findings(object('DRWorkflow', 'w', workflow([action])))).toEqual([
      'blocked InvalidField spec.actions[0].type',
    ]);
  });

  it('or never had an effect is told', () => {
    const action = {
      name: 'h',
      type: 'HTTP',
      http: { url: 'https://x.example/', expectedStatusCodes: [200] },
    };
    expect(findings(object('DRWorkflow', 'w', workflow([action])))).toEqual([
      'note UnknownField spec.actions[0].http.expectedStatusCodes',
    ]);
  });
});

describe('plans', () => {
  const of = (spec: Loose, choices?: ImportChoices): string[] =>
    findings(object('DRPlan', 'p', spec), choices);

  it('act as a ServiceAccount', () => {
    expect(of(plan({ serviceAccountName: undefined }))).toEqual([
      'differs NoServiceAccount spec.serviceAccountName',
    ]);
    const given = converted(object('DRPlan', 'p', plan({ serviceAccountName: '' })), {
      serviceAccount: 'runner',
    });
    expect(given).toMatchObject({ spec: { serviceAccountName: 'runner' } });
  });

  it('heed the policies of their stages', () => {
    const two = [
      { workflowRef: { name: 'w', namespace: 'shop' } },
      { workflowRef: { name: 'w', namespace: 'shop' } },
    ];
    const at = 'spec.stages[0].failurePolicy';
    expect(of(plan({}, { parallel: true, workflows: two, failurePolicy: 'FailFast' }))).toEqual([
      `note StageFailFast ${at}`,
    ]);
    expect(of(plan({}, { parallel: true, workflows: two }))).toEqual([`differs SiblingsFinish ${at}`]);
    expect(of(plan({}, { failurePolicy: 'Continue' }))).toEqual([`differs StagePolicyHeeded ${at}`]);
    expect(of(plan({}, { failurePolicy: 'Stop' }))).toEqual([]);
    expect(of(plan({ failurePolicy: 'Continue' }, { failurePolicy: 'Continue' }))).toEqual([
      'differs ContinueWorks spec.failurePolicy',
    ]);
  });

  it('use defaults as values, and look for workflows beside them', () => {
    expect(of(plan({ globalParams: [{ name: 'x', default: '1' }] }))).toEqual([
      'differs DefaultCounts spec.globalParams[0].default',
    ]);
    const bare = plan(
      {},
      { workflows: [{ workflowRef: { name: 'w' }, params: [{ name: 'y', default: '1' }] }] },
    );
    expect(of(bare)).toEqual([
      'differs DefaultCounts spec.stages[0].workflows[0].params[0].default',
      'note WorkflowNamespace spec.stages[0].workflows[0].workflowRef',
    ]);
  });

  it('remember names, locks and that they were executed', () => {
    const executionHistory = [
      { name: 'go', phase: 'Succeeded' },
      { name: 'go', phase: 'Failed' },
      { name: 'git' },
    ];
    const status = { phase: 'Executed', currentExecution: { name: 'go' }, executionHistory };
    const one = stored('DRPlan', 'p', plan(), undefined, status);
    const again = object('DRPlanExecution', 'git', { planRef: 'p', operationType: 'Execute' });
    expect(findings(one, {}, again)).toEqual([
      'differs ExecuteOnce status.phase',
      'note LockHeld status.currentExecution',
      'differs NameReused status.executionHistory',
      'differs NameReused status.executionHistory',
    ]);
  });

  it('are not started by annotations', () => {
    const one = object('DRPlan', 'p', plan(), {
      metadata: { annotations: { 'dr.bkbcs.tencent.com/trigger': 'execute' } },
    });
    expect(findings(one)).toEqual(['differs TriggerIgnored metadata.annotations']);
    expect(JSON.stringify(converted(one))).not.toContain('trigger');
  });
});

describe('executions', () => {
  const documented = { planRef: { name: 'p', namespace: 'shop' }, operation: 'Execute' };

  it('take the shape of the definitions', () => {
    const one = object('DRPlanExecution', 'e', documented);
    expect(findings(one)).toEqual([
      'changed PlanRefShape spec.planRef',
      'changed OperationName spec.operation',
    ]);
    expect(converted(one)).toEqual({
      apiVersion: API,
      kind: 'DRPlanExecution',
      metadata: { name: 'e', namespace: 'shop' },
      spec: { planRef: 'p', operationType: 'Execute' },
    });
  });

  it('cannot run a plan of another namespace', () => {
    const other = { planRef: { name: 'p', namespace: 'elsewhere' }, operation: 'Execute' };
    expect(findings(object('DRPlanExecution', 'e', other))).toContain('blocked OtherNamespace spec.planRef');
  });

  it.each([
    ['Canceled', ['note CancelSpelling status.phase', 'note Record status']],
    ['Succeeded', ['note Record status']],
    ['Running', ['differs Abandoned status.phase']],
  ])('that are %s are never written again: creating one would start the plan [S1.3]', (phase, expected) => {
    const spec = { planRef: 'p', operationType: 'Execute' };
    for (const one of [
      stored('DRPlanExecution', 'e', spec, undefined, { phase }),
      object('DRPlanExecution', 'e', documented, { status: { phase } }),
    ]) {
      expect(findings(one)).toEqual(expected);
      expect(converted(one)).toBeUndefined();
    }
  });
});

describe('writing', () => {
  let folder = '';
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'drover-import-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('gives each object a file, and never overwrites one', async () => {
    const { imported } = run([
      stored('DRPlan', 'p', plan()),
      object('DRPlanExecution', 'e', { planRef: 'p', operationType: 'Execute' }),
      stored('DRPlanExecution', 'old', { planRef: 'p', operationType: 'Execute' }, undefined, {
        phase: 'Failed',
      }),
    ]);
    await writeConverted(folder, imported);
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const files = entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
    expect(files.map((file) => file.slice(folder.length + 1)).sort()).toEqual([
      'shop/drplan-p.yaml',
      'shop/executions/drplanexecution-e.yaml',
    ]);
    const text = await readFile(join(folder, 'shop/drplan-p.yaml'), 'utf8');
    expect(parse(text)).toEqual({
      apiVersion: API,
      kind: 'DRPlan',
      metadata: { name: 'p', namespace: 'shop' },
      spec: plan(),
    });
    await expect(writeConverted(folder, imported)).rejects.toThrow(
      /is there already; nothing is overwritten/,
    );
  });

  it('stays inside its folder whatever objects are called', async () => {
    const { imported } = run([object('DRPlan', '../../out', plan())]);
    const [file] = await writeConverted(folder, imported);
    expect(file).toMatch(/shop\/drplan-out-[0-9a-f]+\.yaml$/);
  });

  it('changes files in place, comments and other documents included', async () => {
    const file = join(folder, 'all.yaml');
    await writeFile(
      file,
      `# who to call: the platform team\nkind: ConfigMap\ndata:\n  x: "1" # keep\n---\napiVersion: ${API}\nkind: DRPlanExecution\nmetadata:\n  name: e\nspec:\n  # the plan\n  planRef:\n    name: p\n  operationType: Execute\n`,
    );
    const parsed = parseManifests({ file, text: await readFile(file, 'utf8') });
    const { objects } = pickObjects(parsed.objects, 'default');
    expect(
      await rewriteFiles([parsed], importObjects(objects.filter(isDrObject), {}, NO_SURROUNDINGS)),
    ).toEqual([file]);
    expect(await readFile(file, 'utf8')).toBe(
      `# who to call: the platform team\nkind: ConfigMap\ndata:\n  x: "1" # keep\n---\napiVersion: ${API}\nkind: DRPlanExecution\nmetadata:\n  name: e\nspec:\n  # the plan\n  planRef: p\n  operationType: Execute\n`,
    );
    expect(await readdir(folder)).toEqual(['all.yaml']);
  });
});
