import { describe, expect, it } from 'vitest';
import { jsonPatch, mergePatch } from './json-patch.js';

describe('mergePatch', () => {
  it('merges maps, replaces lists and removes by null', () => {
    expect(mergePatch({ a: { b: 1, c: 2 }, l: [1, 2] }, { a: { b: null, d: 3 }, l: [9] })).toEqual({
      a: { c: 2, d: 3 },
      l: [9],
    });
  });

  it('leaves its input as it was', () => {
    const input = { a: { b: 1 } };
    mergePatch(input, { a: { b: 2 } });
    expect(input).toEqual({ a: { b: 1 } });
  });
});

describe('jsonPatch', () => {
  const document = { spec: { replicas: 1, list: ['a', 'b'] }, 'a/b': 1 };

  it('adds, replaces, removes, moves and copies', () => {
    const result = jsonPatch(document, [
      { op: 'replace', path: '/spec/replicas', value: 3 },
      { op: 'add', path: '/spec/list/1', value: 'x' },
      { op: 'add', path: '/spec/list/-', value: 'z' },
      { op: 'remove', path: '/spec/list/0' },
      { op: 'copy', from: '/spec/replicas', path: '/copy' },
      { op: 'move', from: '/a~1b', path: '/moved' },
    ]);
    expect(result).toEqual({ spec: { replicas: 3, list: ['x', 'b', 'z'] }, copy: 3, moved: 1 });
    expect(document.spec.replicas).toBe(1);
  });

  it('silently changes nothing when a path is missing, as Clusternet does', () => {
    const operations = [
      { op: 'replace', path: '/spec/replicas', value: 9 },
      { op: 'replace', path: '/no/such', value: 1 },
    ];
    expect(jsonPatch(document, operations)).toEqual(document);
    for (const path of ['/spec/no', '/no/such']) {
      expect(jsonPatch(document, [{ op: 'remove', path }])).toEqual(document);
    }
    expect(jsonPatch(document, [{ op: 'replace', path: '/spec/list/7', value: 'x' }])).toEqual(document);
    expect(jsonPatch(document, [{ op: 'test', path: '/no/such', value: 1 }])).toEqual(document);
  });

  it('copies null from a key that is not there, moves nothing, and takes a path without its first slash as it is', () => {
    const from = '/spec/no';
    expect(jsonPatch(document, [{ op: 'copy', from, path: '/copy' }])).toMatchObject({ copy: null });
    expect(jsonPatch(document, [{ op: 'move', from, path: '/moved' }])).toEqual(document);
    expect(jsonPatch(document, [{ op: 'remove', path: 'spec' }])).toEqual(document);
    expect(jsonPatch(document, [{ op: 'add', path: 'data/x', value: 1 }])).toMatchObject({ x: 1 });
  });

  it('adds what a replace does not find in an object, as Clusternet does', () => {
    expect(jsonPatch(document, [{ op: 'replace', path: '/spec/new', value: 1 }])).toMatchObject({
      spec: { replicas: 1, new: 1 },
    });
  });

  it('refuses a place that a list does not have', () => {
    expect(() => jsonPatch(document, [{ op: 'remove', path: '/spec/list/7' }])).toThrow(
      'no place 7 in a list of 2',
    );
    expect(() => jsonPatch(document, [{ op: 'add', path: '/spec/list/x', value: 1 }])).toThrow('no place x');
  });

  it('replaces the whole document at the empty path', () => {
    expect(jsonPatch(document, [{ op: 'replace', path: '', value: { a: 1 } }])).toEqual({ a: 1 });
  });

  it('refuses a failed test and an unknown operation', () => {
    expect(() => jsonPatch(document, [{ op: 'test', path: '/spec/replicas', value: 2 }])).toThrow(
      'test failed',
    );
    expect(() => jsonPatch(document, [{ op: 'swap', path: '/a' }])).toThrow(
      'unknown JSON patch operation "swap"',
    );
  });
});
