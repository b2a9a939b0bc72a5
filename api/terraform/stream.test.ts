import { describe, expect, it } from 'vitest';
import { followEngine, gatherInstances } from './apply-progress.js';
import { instanceKey } from './state.js';
import { readStreamLine } from './stream.js';

const hook = (type: string, addr: string, action: string, more: object = {}): string =>
  JSON.stringify({
    '@level': 'info',
    '@message': `${addr}: something that people read`,
    type,
    hook: {
      resource: {
        addr,
        module: '',
        resource: addr,
        resource_type: 't',
        resource_name: addr.split('.')[1],
        resource_key: null,
      },
      action,
      ...more,
    },
  });

describe('a line of an engine', () => {
  it('tells what moves by its hook, whatever the key looks like [T4.4]', () => {
    const addr = 'module.a["x y"].t.n["a/b: c (d) \\"e\\""]';
    const line = JSON.stringify({
      type: 'apply_complete',
      hook: {
        resource: {
          addr,
          module: 'module.a["x y"]',
          resource_type: 't',
          resource_name: 'n',
          resource_key: 'a/b: c (d) "e"',
        },
        action: 'create',
        id_key: 'id',
        id_value: 'i-1',
      },
    });
    expect(readStreamLine(line)).toEqual({
      type: 'move',
      move: { address: addr, action: 'create', status: 'completed', id: 'i-1' },
      key: instanceKey({ module: 'module.a["x y"]', type: 't', name: 'n', index: 'a/b: c (d) "e"' }),
    });
  });

  it.each([
    ['a data source', hook('apply_start', 'data.t.x', 'read')],
    ['a provisioner', hook('provision_start', 't.x', 'create')],
    ['progress', hook('apply_progress', 't.x', 'create')],
    ['text', 'Terraform has been successfully initialized! "type":"apply_start"'],
    ['half a line', hook('apply_start', 't.x', 'create').slice(0, -5)],
    ['a hook without a resource', '{"type":"apply_start","hook":{}}'],
    ['nothing', ''],
  ])('says nothing of resources where it is %s [T4.4]', (_, line) => {
    expect(readStreamLine(line)).toBeUndefined();
  });

  it('tells what is wrong, and where', () => {
    const line = JSON.stringify({
      type: 'diagnostic',
      diagnostic: {
        severity: 'error',
        summary: 'Bad',
        detail: 'It is.',
        range: { filename: 'main.tf', start: { line: 3 } },
        address: 't.x',
      },
    });
    expect(readStreamLine(line)).toEqual({
      type: 'diagnostic',
      diagnostic: {
        severity: 'error',
        summary: 'Bad',
        detail: 'It is.',
        file: 'main.tf',
        line: 3,
        address: 't.x',
      },
    });
  });
});

function known(...keys: string[]) {
  const found = gatherInstances();
  for (const key of keys) found.add({ key: instanceKey({ type: 't', name: key }), isDeposed: false });
  return found;
}

describe('what is in doubt after an apply [T8.9]', () => {
  const after = (lines: string[], before: string[], state: string[], deposed: string[] = []) => {
    const progress = followEngine();
    for (const line of lines) progress.line(line);
    const was = known(...before);
    for (const key of deposed) was.add({ key: instanceKey({ type: 't', name: key }), isDeposed: true });
    return progress
      .inDoubt(was, known(...state))
      .map(({ address, action, why }) => `${action} ${address} ${why}`);
  };
  const done = (addr: string, action: string): string[] => [
    hook('apply_start', addr, action),
    hook('apply_complete', addr, action),
  ];

  it('is what was begun and has no end', () => {
    expect(after([hook('apply_start', 't.a', 'create'), ...done('t.b', 'create')], [], ['b'])).toEqual([
      'create t.a noEnd',
    ]);
  });

  it('is what was created and is not in the state', () => {
    expect(after([...done('t.a', 'create'), ...done('t.b', 'create')], [], ['b'])).toEqual([
      'create t.a notInState',
    ]);
  });

  it('is what was deleted and is still in the state', () => {
    expect(after([...done('t.a', 'delete'), ...done('t.b', 'delete')], ['a', 'b'], ['a'])).toEqual([
      'delete t.a stillInState',
    ]);
  });

  it.each([
    [
      'what failed',
      [hook('apply_start', 't.a', 'create'), hook('apply_errored', 't.a', 'create')],
      [],
      [],
      [],
    ],
    ['what was replaced', [...done('t.a', 'delete'), ...done('t.a', 'create')], ['a'], ['a'], []],
    [
      'what was replaced the other way round',
      [...done('t.a', 'create'), ...done('t.a', 'delete')],
      ['a'],
      ['a'],
      [],
    ],
    ['a deposed object whose successor stays', done('t.a', 'delete'), ['a'], ['a'], ['a']],
    ['an update', done('t.a', 'update'), ['a'], ['a'], []],
  ])('is not %s', (_, lines, before, state, deposed) => {
    expect(after(lines, before, state, deposed)).toEqual([]);
  });

  it('names the id that the engine told', () => {
    const progress = followEngine();
    progress.line(hook('apply_start', 't.a', 'delete', { id_value: 'i-1' }));
    expect(progress.inDoubt(known('a'), known('a'))).toEqual([
      { address: 't.a', action: 'delete', id: 'i-1', why: 'noEnd' },
    ]);
  });
});

it('diagnostics are errors first, and not without end', () => {
  const progress = followEngine();
  const say = (severity: string, summary: string): void =>
    void progress.line(JSON.stringify({ type: 'diagnostic', diagnostic: { severity, summary } }));
  for (let i = 0; i < 30; i += 1) say('warning', `w${i}`);
  say('error', 'e');
  const found = progress.diagnostics();
  expect(found).toHaveLength(20);
  expect(found[0]).toEqual({ severity: 'error', summary: 'e' });
});
