/**
 * Parameters and templates as they arrive at a server and in the cluster
 * (docs/semantics.md#2-parameters-and-templates).
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DRPlanExecution } from '../../api/plan/types.js';
import { ask } from '../admission/asking.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { actionAt, http, openStack, unique } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

let stack: Stack;
let unreviewed: Stack;
let recorder: Recorder;
beforeAll(async () => {
  [stack, unreviewed, recorder] = await Promise.all([
    openStack('values'),
    openStack('values-unreviewed', { admission: 'disabled' }),
    startRecorder(),
  ]);
});
afterAll(async () => {
  await recorder.close();
  await Promise.all([stack.close(), unreviewed.close()]);
});

const configMap = (name: string) =>
  stack.kube.get<{ data?: Record<string, string>; metadata: { annotations?: Record<string, string> } }>({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    namespace: stack.namespace,
    name,
  });

/** What would be more than a value if it were pasted into text. */
const HOSTILE = [
  'x"\n  injected: "yes',
  "'; DROP\n---\nkind: Secret\nmetadata: {name: stolen}",
  '{{ .params.other }}',
  '$(params.other)',
  '}, "admin": true, {',
  '&anchor *alias !!binary #comment | >',
  '"%2e%2e/?a=b&c=d#e',
  '🙂 \u2028 \u0085 \ufeffé',
  'null',
  '\\" \\n \\u0000',
  '\t- a: [',
];

describe('a value', () => {
  it('of any content lands as one value: in a URL, a header, a JSON body and a manifest [S2.11] [S2.13] [S4.14]', async () => {
    await stack.workflow('hostile', {
      parameters: [{ name: 'v' }, { name: 'n' }, { name: 'other', default: 'SECOND PASS' }],
      actions: [
        {
          name: 'send',
          type: 'HTTP',
          http: {
            url: `${recorder.url}/hostile/{{ .params.n }}/{{ .params.v }}?q={{ .params.v }}&end=1`,
            method: 'POST',
            headers: { 'Content-Type': 'application/json' },
            body: '{"quoted": "{{ .params.v }}", "old": "$(params.v)", "end": 1}',
          },
        },
        {
          name: 'write',
          type: 'KubernetesResource',
          resource: {
            manifest: `apiVersion: v1
kind: ConfigMap
metadata:
  name: "hostile-{{ .params.n }}"
  annotations:
    inside: "<{{ .params.v }}>"
data:
  quoted: "{{ .params.v }}"
  plain: {{ .params.v }}
  block: |
    {{ .params.v }}
`,
          },
        },
      ],
    });
    await stack.plan('hostile', {
      stages: [
        {
          name: 'all',
          parallel: true,
          workflows: HOSTILE.map((value, n) => ({
            workflowRef: { name: 'hostile' },
            params: [
              { name: 'v', value },
              { name: 'n', value: n },
            ],
          })),
        },
      ],
    });
    const ended = await stack.ended(await stack.execute('hostile'));
    expect(ended.status?.message).toBe('1 stage completed');
    for (const [n, value] of HOSTILE.entries()) {
      const [request] = recorder.requests.filter(({ path }) => path.startsWith(`/hostile/${n}/`));
      expect(decodeURIComponent(request?.path ?? '')).toBe(`/hostile/${n}/${value}`);
      expect([...new URLSearchParams(request?.query)]).toEqual([
        ['q', value],
        ['end', '1'],
      ]);
      expect(JSON.parse(request?.body ?? '')).toEqual({ quoted: value, old: value, end: 1 });
      const object = await configMap(`hostile-${n}`);
      expect(object?.data).toEqual({ quoted: value, plain: value, block: `${value}\n` });
      expect(object?.metadata.annotations?.inside).toBe(`<${value}>`);
    }
    const stolen = { apiVersion: 'v1', kind: 'Secret', namespace: stack.namespace, name: 'stolen' };
    expect(await stack.kube.get(stolen)).toBeUndefined();
  });

  it('takes its type where it is a whole unquoted scalar, and is text where it is quoted [S2.12]', async () => {
    await stack.simplePlan(
      'typed',
      [
        {
          name: 'body',
          type: 'HTTP',
          http: {
            url: `${recorder.url}/typed`,
            method: 'POST',
            body: '{"n": {{ .params.n }}, "t": "{{ .params.n }}", "on": $(params.on), "version": {{ .params.version }}}',
          },
        },
        {
          name: 'deploy',
          type: 'KubernetesResource',
          resource: {
            manifest: `apiVersion: apps/v1
kind: Deployment
metadata: {name: typed, annotations: {replicas: "{{ .params.n }}"}}
spec:
  replicas: {{ .params.n }}
  paused: {{ .params.on }}
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec: {containers: [{name: c, image: i}]}
`,
          },
        },
      ],
      {
        workflow: {
          parameters: [
            { name: 'n', type: 'number', default: '3' },
            { name: 'on', type: 'boolean', default: true },
            { name: 'version', default: '1.10' },
          ],
        },
      },
    );
    expect((await stack.ended(await stack.execute('typed'))).status?.phase).toBe('Succeeded');
    expect(JSON.parse(recorder.of('/typed')[0]?.body ?? '')).toEqual({
      n: 3,
      t: '3',
      on: true,
      // A version is not the number 1.1.
      version: '1.10',
    });
    const deployment = await stack.kube.get({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      namespace: stack.namespace,
      name: 'typed',
    });
    expect(deployment).toMatchObject({
      metadata: { annotations: { replicas: '3' } },
      spec: { replicas: 3, paused: true },
    });
  });

  it('may be the host of a URL, and then has to make a valid one [S2.13]', async () => {
    await stack.simplePlan(
      'host',
      [http('call', '{{ .params.base }}/host', { retryPolicy: { limit: 0 }, timeout: '2s' })],
      { workflow: { parameters: [{ name: 'base', required: true }] } },
    );
    const run = async (value: string) =>
      stack.ended(await stack.execute('host', { rerun: 'Allowed', params: [{ name: 'base', value }] }));
    expect((await run(recorder.url)).status?.phase).toBe('Succeeded');
    expect(recorder.of('/host')).toHaveLength(1);
    const refused = await run('ftp://x');
    expect(actionAt(refused, 0, 0, 0)).toMatchObject({ phase: 'Failed', effect: 'None' });
    expect(actionAt(refused, 0, 0, 0)?.message).toMatch(/ftp/);
  });

  it('with a line end never becomes a header [S2.14]', async () => {
    await stack.simplePlan(
      'header',
      [
        {
          name: 'call',
          type: 'HTTP',
          http: {
            url: `${recorder.url}/header`,
            method: 'POST',
            headers: { 'X-Site': 'at {{ .params.site }}' },
          },
        },
      ],
      { workflow: { parameters: [{ name: 'site', default: 'b' }] } },
    );
    await stack.ended(await stack.execute('header'));
    expect(recorder.of('/header')[0]?.headers['x-site']).toBe('at b');
    const params = [{ name: 'site', value: 'b\r\nX-Admin: yes' }];
    const ended = await stack.ended(await stack.execute('header', { rerun: 'Allowed', params }));
    expect(ended.status?.phase).toBe('Failed');
    expect(actionAt(ended, 0, 0, 0)).toMatchObject({ effect: 'None' });
    expect(actionAt(ended, 0, 0, 0)?.message).toMatch(/X-Site.*line ends/);
    expect(recorder.of('/header')).toHaveLength(1);
  });
});

describe('parameters', () => {
  it('merge from workflow to plan to stage to execution, value before default in each [S2.1]', async () => {
    const names = ['w', 'p', 's', 'x', 'default-in-plan', 'emptied', 'kept', 'my_x', 'my-x'];
    await stack.workflow('levels', {
      parameters: [
        ...names.map((name) => ({ name, default: `workflow ${name}` })),
        { name: 'both', default: 'default', value: 'value' },
      ],
      actions: [
        {
          name: 'send',
          type: 'HTTP',
          http: {
            url: `${recorder.url}/levels`,
            method: 'POST',
            body: JSON.stringify(
              Object.fromEntries([...names, 'both'].map((name) => [name, `{{ .params.${name} }}`])),
            ),
          },
        },
      ],
    });
    const from = (level: string, of: string[]) => of.map((name) => ({ name, value: level }));
    await stack.plan('levels', {
      globalParams: [
        ...from('plan', ['p', 's', 'x']),
        { name: 'default-in-plan', default: 'plan' },
        { name: 'emptied', value: '' },
        { name: 'kept' },
      ],
      stages: [
        {
          name: 'one',
          workflows: [{ workflowRef: { name: 'levels' }, params: from('stage', ['s', 'x', 'my_x', 'my-x']) }],
        },
      ],
    });
    await stack.ended(await stack.execute('levels', { params: from('execution', ['x']) }));
    expect(JSON.parse(recorder.of('/levels')[0]?.body ?? '')).toEqual({
      w: 'workflow w',
      p: 'plan',
      s: 'stage',
      x: 'execution',
      'default-in-plan': 'plan',
      emptied: '',
      kept: 'workflow kept',
      both: 'value',
      my_x: 'stage',
      'my-x': 'stage',
    });
  });

  it('that are required are not satisfied by an empty text [S2.2]', async () => {
    await stack.simplePlan('empty', [http('a', `${recorder.url}/empty`)], {
      workflow: { parameters: [{ name: 'site', required: true }] },
      plan: { globalParams: [{ name: 'site', value: '' }] },
    });
    await expect(stack.execute('empty')).rejects.toThrow(/"site" is required/);
  });

  it('that nobody knows or uses are warned of, and are let in [S2.5]', async () => {
    await stack.workflow('unused', {
      parameters: [{ name: 'used', default: 'a' }],
      actions: [http('a', `${recorder.url}/{{ .params.used }}`)],
    });
    const plan = await ask(stack.namespace, 'DRPlan', unique('unknown'), {
      globalParams: [{ name: 'nobody', value: 'x' }],
      stages: [{ name: 's', workflows: [{ workflowRef: { name: 'unused' } }] }],
    });
    expect(plan).toMatchObject({ status: 201, warnings: [expect.stringMatching(/nobody/)] });
    const workflow = await ask(stack.namespace, 'DRWorkflow', unique('unused'), {
      parameters: [{ name: 'never', default: 'a' }],
      actions: [http('a', `${recorder.url}/`)],
    });
    expect(workflow).toMatchObject({
      status: 201,
      warnings: expect.arrayContaining([expect.stringMatching(/"never" is used by no action/)]),
    });
  });

  it.each<[string, string, string]>([
    ['number', 'many', '4'],
    ['boolean', 'maybe', 'true'],
  ])('declared as %s have that type at every level [S2.3]', async (type, bad, good) => {
    const name = unique('type');
    await stack.simplePlan(name, [http('a', `${recorder.url}/${name}/{{ .params.v }}`)], {
      workflow: { parameters: [{ name: 'v', type: type as 'number', default: good }] },
    });
    const params = (value: string) => [{ name: 'v', value }];
    const message = new RegExp(`(?=.*"${bad}").*${type}`, 's');
    const stage = { name: 's', workflows: [{ workflowRef: { name } }] };
    for (const [kind, spec] of [
      ['DRPlan', { stages: [stage], globalParams: params(bad) }],
      ['DRPlan', { stages: [{ ...stage, workflows: [{ workflowRef: { name }, params: params(bad) }] }] }],
      ['DRPlanExecution', { planRef: name, operationType: 'Execute', params: params(bad) }],
      [
        'DRWorkflow',
        {
          parameters: [{ name: 'v', type, default: bad }],
          actions: [http('a', 'http://x/{{ .params.v }}')],
        },
      ],
    ] as const) {
      const asked = await ask(stack.namespace, kind, unique('bad'), spec);
      expect(asked.message).toMatch(message);
      expect(asked.status).toBe(422);
    }
    const ended = await stack.ended(await stack.execute(name, { params: params(good) }));
    expect(ended.status?.phase).toBe('Succeeded');
  });
});

describe('placeholders', () => {
  it('name the plan, the execution, the operation and outputs; the phase also of what was skipped [S2.7]', async () => {
    await stack.simplePlan('names', [
      http('first', `${recorder.url}/names-first?body=said`, {
        rollback: { http: { url: `${recorder.url}/names-undo/{{ .operation }}`, method: 'POST' } },
      }),
      http('never', `${recorder.url}/names-never`, { when: 'false' }),
      {
        name: 'send',
        type: 'HTTP',
        http: {
          url: `${recorder.url}/names`,
          method: 'POST',
          body: '{{ .planName }} $(executionName) {{ .operation }} {{ .outputs.first.httpResponse.body }} {{ .outputs.first.httpResponse.statusCode }} {{ .outputs.never.phase }}',
        },
      },
    ]);
    const execution = await stack.execute('names');
    await stack.ended(execution);
    expect(recorder.of('/names')[0]?.body).toBe(`names ${execution.metadata.name} Execute said 200 Skipped`);
    await stack.ended(await stack.revert(execution));
    expect(recorder.requests.some(({ path }) => path.startsWith('/names-undo/'))).toBe(true);
  });

  it('have a default for what is missing or empty [S2.8]', async () => {
    await stack.simplePlan(
      'defaults',
      [
        {
          name: 'send',
          type: 'HTTP',
          http: {
            url: `${recorder.url}/defaults`,
            method: 'POST',
            body: '{{ .params.missing | default "3" }} {{ .params.empty | default "4" }} {{ .params.given | default "5" }}',
          },
        },
      ],
      {
        workflow: {
          parameters: [
            { name: 'empty', default: '' },
            { name: 'given', default: 'x' },
          ],
        },
      },
    );
    await stack.ended(await stack.execute('defaults'));
    expect(recorder.of('/defaults')[0]?.body).toBe('3 4 x');
  });

  it('leave all other braces and parentheses as they are [S2.9]', async () => {
    const foreign =
      '{{ .Values.image }} {{ include "a.b" . }} {{- if .Release.Name }}x{{ end }} $(hostname) $(HOME) ${HOME} $(date +%s) {{ $x.params.y }}';
    await stack.simplePlan('foreign', [
      {
        name: 'write',
        type: 'KubernetesResource',
        resource: {
          manifest: `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: foreign}\ndata:\n  script: |-\n    ${foreign}\n`,
        },
      },
      {
        name: 'send',
        type: 'HTTP',
        http: { url: `${recorder.url}/foreign`, method: 'POST', body: foreign },
      },
    ]);
    const ended = await stack.ended(await stack.execute('foreign'));
    expect(ended.status?.phase).toBe('Succeeded');
    expect((await configMap('foreign'))?.data).toEqual({ script: foreign });
    expect(recorder.of('/foreign')[0]?.body).toBe(foreign);
  });

  it.each<[string, string, RegExp]>([
    ['a pipeline of its own', '{{ .params.x | upper }}', /upper/],
    ['an index', '{{ index .params "x" }}', /cannot be filled in/],
    ['a name with a dot', '{{ .params.a.b }}', /cannot be filled in/],
    ['an output of nobody', '{{ .outputs.nobody.phase }}', /nobody/],
    ['an output of a later action', '{{ .outputs.later.phase }}', /later/],
    ['an output that its type never has', '{{ .outputs.job.httpResponse.body }}', /httpResponse/],
  ])('that cannot work are refused at admission: %s [S2.9] [S2.10]', async (_, body, message) => {
    const job = {
      name: 'job',
      type: 'Job',
      job: {
        template: {
          spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } } },
        },
      },
    };
    const asked = await ask(stack.namespace, 'DRWorkflow', unique('bad'), {
      parameters: [{ name: 'x', default: 'a' }],
      actions: [
        job,
        { name: 'send', type: 'HTTP', http: { url: 'http://x/', method: 'POST', body } },
        http('later', 'http://x/'),
      ],
    });
    expect(asked.message).toMatch(/denied the request/);
    expect(asked.message).toMatch(message);
    expect(asked.message).toMatch(/spec\.actions\[1\]\.http/);
    expect(asked.message).not.toMatch(/spec\.actions\[[02]\]/);
  });

  it('without a value fail the execution before any action, where nobody has looked before [S2.10]', async () => {
    await unreviewed.workflow('late', {
      actions: [
        http('first', `${recorder.url}/late`),
        http('second', `${recorder.url}/late/{{ .params.x }}`),
      ],
    });
    await unreviewed.plan('late', {
      globalParams: [{ name: 'x', value: 'there' }],
      stages: [{ name: 's', workflows: [{ workflowRef: { name: 'late' } }] }],
    });
    const key = {
      apiVersion: 'dr.bkbcs.tencent.com/v1alpha1',
      kind: 'DRPlan',
      namespace: unreviewed.namespace,
      name: 'late',
    };
    await unreviewed.kube.patch(key, { spec: { globalParams: [] } }, { kind: 'merge' });
    const ended: DRPlanExecution = await unreviewed.ended(await unreviewed.execute('late'));
    expect(ended.status).toMatchObject({ phase: 'Failed', completionTime: expect.any(String) });
    expect(ended.status?.message).toContain('"x"');
    expect(recorder.of('/late')).toHaveLength(0);
  });
});
