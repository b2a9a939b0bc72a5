import { expect, it } from 'vitest';
import { createObjectStore, isNewer } from './object-store.js';
import type { Cacheable, Change } from './object-store.js';

const object = (name: string, resourceVersion: string, uid = `uid-${name}`): Cacheable => ({
  metadata: { namespace: 'shop', name, uid, resourceVersion },
});

function open() {
  const store = createObjectStore<Cacheable>({ apiVersion: 'v1', kind: 'ConfigMap', trim: (raw) => raw });
  const changes: string[] = [];
  store.onChange((change: Change<Cacheable>) => {
    const { name, resourceVersion } = change.object.metadata;
    changes.push(`${change.kind} ${name} ${resourceVersion ?? ''}`);
  });
  const version = (name: string): string | undefined => store.get('shop', name)?.metadata.resourceVersion;
  return { store, changes, version };
}

it('keeps the newest version, whichever way it came', () => {
  const { store, changes, version } = open();
  store.set(object('a', '9'));
  store.set(object('a', '10'));
  store.set(object('a', '9'));
  expect(version('a')).toBe('10');
  expect(changes).toEqual(['set a 9', 'set a 10']);
});

it('does not bring back what is gone by a late answer to a write', () => {
  const { store, version } = open();
  store.set(object('a', '5'));
  store.remove(object('a', '7'), '7');
  store.set(object('a', '6'));
  expect(version('a')).toBeUndefined();
  store.set(object('a', '8'));
  expect(version('a')).toBe('8');
});

it('tells that another object has taken the name', () => {
  const { store, changes } = open();
  store.set(object('a', '5', 'first'));
  store.set(object('a', '6', 'second'));
  expect(changes).toEqual(['set a 5', 'gone a 5', 'set a 6']);
});

it('takes out what a complete list does not have, but not what was written after it', () => {
  const { store, changes, version } = open();
  for (const one of [object('a', '5'), object('b', '6'), object('c', '30')]) store.set(one);
  store.keepOnly(new Set(['uid-a']), '20');
  expect(['a', 'b', 'c'].map(version)).toEqual(['5', undefined, '30']);
  expect(changes.at(-1)).toBe('gone b 6');
});

it('believes earlier versions once the storage was set back', () => {
  const { store, version } = open();
  store.set(object('a', '50'));
  store.setBack();
  store.set(object('a', '20'));
  store.keepOnly(new Set(['uid-a']), '21');
  expect(version('a')).toBe('20');
  store.set(object('a', '19'));
  expect(version('a')).toBe('20');
});

it('finds what a watch has missed', () => {
  const { store } = open();
  for (const one of [object('old', '5'), object('same', '6'), object('left', '7'), object('later', '90')])
    store.set(one);
  store.remove(object('dead', '8'), '8');
  const listed = (name: string, resourceVersion: string, uid = `uid-${name}`) => ({
    namespace: 'shop',
    name,
    uid,
    resourceVersion,
  });
  const { missed, left, isSetBack } = store.compare(
    [listed('old', '11'), listed('same', '6'), listed('new', '12'), listed('dead', '3')],
    '20',
  );
  expect(missed.map(({ name }) => name)).toEqual(['old', 'new']);
  expect(left.map(({ metadata }) => metadata.name)).toEqual(['left']);
  expect(isSetBack).toBe(false);
  expect(store.compare([listed('old', '4')], '20').isSetBack).toBe(true);
});

it.each([
  ['10', '9', true],
  ['9', '10', false],
  ['10', '10', false],
  [undefined, '1', true],
  ['1', undefined, true],
])('takes %s as newer than %s: %s', (candidate, known, expected) => {
  expect(isNewer(candidate, known)).toBe(expected);
});
