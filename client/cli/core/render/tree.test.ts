import { describe, expect, it } from 'vitest';
import { createStyle } from './style.js';
import { renderTree, type TreeNode } from './tree.js';

const style = createStyle({ color: false, unicode: true });
const leaf = (label: string, rest: Partial<TreeNode> = {}): TreeNode => ({ label, children: [], ...rest });

const tree: TreeNode[] = [
  {
    phase: 'Failed',
    label: 'drain',
    time: '3s',
    children: [
      {
        phase: 'Failed',
        label: 'traffic',
        children: [
          leaf('first', { phase: 'Succeeded', kind: 'HTTP', time: '0.4s' }),
          leaf('second', {
            phase: 'Failed',
            kind: 'Job',
            time: '12s',
            note: 'JobFailed: the job gave up at last',
          }),
        ],
      },
    ],
  },
  leaf('later', { phase: 'Skipped' }),
];

describe('trees', () => {
  it('show branches, signs, kinds, times and notes in columns', () => {
    expect(renderTree(tree, { style })).toEqual([
      '✖ drain                 3s',
      '└─ ✖ traffic',
      '   ├─ ✔ first   HTTP  0.4s',
      '   └─ ✖ second  Job    12s  JobFailed: the job gave up at last',
      '– later',
    ]);
  });

  it('cut notes to the width of the screen', () => {
    const lines = renderTree(tree, { style, width: 44 });
    expect(Math.max(...lines.map((line) => line.length))).toBe(44);
    expect(lines[3]).toMatch(/JobFailed: the.*…$/);
  });

  it('wrap notes below each other, or below the line where it is narrow', () => {
    expect(renderTree(tree, { style, width: 62, wrapNotes: true }).slice(3, 5)).toEqual([
      '   └─ ✖ second  Job    12s  JobFailed: the job gave up at last',
      '– later',
    ]);
    expect(renderTree(tree, { style, width: 40, wrapNotes: true }).slice(3, 6)).toEqual([
      '   └─ ✖ second  Job    12s',
      '           JobFailed: the job gave up at',
      '           last',
    ]);
  });

  it('do without Unicode', () => {
    const ascii = createStyle({ color: false, unicode: false });
    expect(renderTree(tree, { style: ascii })[2]).toBe('   |- + first   HTTP  0.4s');
  });

  it('keep control characters of labels out', () => {
    expect(renderTree([leaf('a\u001b[2Jb')], { style })).toEqual(['ab']);
  });
});
