import { parseAllDocuments } from 'yaml';
import { describe, expect, it } from 'vitest';
import { podAnnotations, stagesFile } from './stages.js';

interface Stage {
  metadata: { name: string };
  spec: {
    resourceRef: { kind: string };
    selector: { matchExpressions: { key: string; operator: string }[] };
    delay?: { durationMilliseconds: number; durationFrom: { expressionFrom: string } };
    next: { delete?: boolean; patches?: { template: string }[] };
  };
}

const stages = parseAllDocuments(stagesFile()).map((d) => d.toJS() as Stage);
const stage = (name: string): Stage => stages.find((s) => s.metadata.name === name)!;

describe('stagesFile', () => {
  it('has the three pod stages that replace all built-in ones', () => {
    expect(stages.map((s) => s.metadata.name)).toEqual(['start', 'end', 'remove']);
    expect(stages.every((s) => s.spec.resourceRef.kind === 'Pod')).toBe(true);
  });

  it('ends pods of Jobs as their annotations say', () => {
    const { selector, delay, next } = stage('end').spec;
    expect(delay?.durationFrom.expressionFrom).toBe(`.metadata.annotations["${podAnnotations.duration}"]`);
    expect(next.patches?.[0]?.template).toContain(`index $a "${podAnnotations.exitCode}"`);
    expect(selector.matchExpressions).toContainEqual({
      key: `.metadata.annotations["${podAnnotations.hang}"]`,
      operator: 'DoesNotExist',
    });
  });

  it('removes deleted pods without touching their finalizers', () => {
    expect(stage('remove').spec.next).toEqual({ delete: true });
  });

  it('lets deleted pods take their time, and some never go [F9]', () => {
    const { selector, delay } = stage('remove').spec;
    expect(delay).toMatchObject({
      durationMilliseconds: 1000,
      durationFrom: { expressionFrom: `.metadata.annotations["${podAnnotations.stop}"]` },
    });
    expect(selector.matchExpressions).toContainEqual({
      key: `.metadata.annotations["${podAnnotations.neverStops}"]`,
      operator: 'DoesNotExist',
    });
  });
});
