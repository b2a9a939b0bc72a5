/** Somebody follows the pages of the manual, command by command, on a machine of his own. Every night. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findPrograms } from '../../../local/binaries.js';
import { down, up } from '../../../local/index.js';
import { dataPaths } from '../../../local/paths.js';
import { servers } from '../../support/servers.js';
import { openFolder, stepsOf } from './folder.js';
import type { Machine } from './folder.js';
import { WALKS } from './walks.js';

const MAX_PAGE_MS = 15 * 60_000;
const progress = (): void => undefined;

let root: string;
let programs: Omit<Machine, 'ownCluster'>;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'drover-manual-'));
  const { kubectl, temporal, helm } = await findPrograms({
    names: ['kubectl', 'temporal', 'helm'],
    progress,
  });
  programs = { kubectl: kubectl.path, temporal: temporal.path, helm: helm.path };
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** A cluster without Drover: Kubernetes alone. */
async function ownCluster(dataDir: string): Promise<string> {
  await up({ dataDir, ephemeral: true, temporal: servers.temporal, webhook: false, progress });
  return dataPaths(dataDir).kubeconfig;
}

const walked = WALKS.filter(({ steps }) => steps.some(({ by }) => by === undefined));
describe.each(walked)('$page', (walk) => {
  it('can be followed from its first command to its last', { timeout: MAX_PAGE_MS }, async () => {
    const name = walk.page.replaceAll('/', '-');
    const own = join(root, `${name}-cluster`);
    const needsOwn = walk.steps.some((step) => step.ownCluster);
    const kubeconfig = needsOwn ? await ownCluster(own) : '';
    const folder = openFolder(join(root, name), walk, { ...programs, ownCluster: kubeconfig });
    try {
      for (const { text, step } of stepsOf(walk)) {
        if (step.by !== undefined) continue;
        expect(text.startsWith(step.begins), `${walk.page}: ${step.begins}`).toBe(true);
        const output = await folder.run(text, step);
        for (const shown of step.shows ?? []) expect(output).toMatch(shown);
      }
    } finally {
      await folder.close();
      if (needsOwn) await down({ dataDir: own, progress });
    }
  });
});
