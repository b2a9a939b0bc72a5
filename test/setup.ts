/**
 * Brings the whole stack up once for all integration tests: real control plane, real Temporal, bridge and worker as
 * their own processes. With DROVER_TEST_DATA_DIR an already running stack is used and left alone.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { down, up } from '../local/index.js';
import type { Endpoints } from '../local/endpoints.js';

declare module 'vitest' {
  export interface ProvidedContext {
    dataDir: string;
    kubeconfig: string;
    temporal: string;
    temporalNamespace: string;
    endpoints: Endpoints;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const existing = process.env.DROVER_TEST_DATA_DIR;
  const dataDir = existing ?? (await mkdtemp(join(tmpdir(), 'drover-test-')));
  const log = (line: string): void => {
    process.stderr.write(`[setup] ${line}\n`);
  };
  const { endpoints, kubeconfig } =
    existing === undefined
      ? await up({
          dataDir,
          ephemeral: true,
          crdDir: 'deploy/crds',
          bridge: { command: process.execPath, args: ['dist/crd-bridge/main.js'] },
          worker: { command: process.execPath, args: ['dist/worker/main.js'] },
          progress: (event) => {
            if ('message' in event && typeof event.message === 'string') log(event.message);
          },
        })
      : {
          endpoints: JSON.parse(await readFile(join(existing, 'endpoints.json'), 'utf8')) as Endpoints,
          kubeconfig: join(existing, 'kubeconfig'),
        };
  project.provide('dataDir', dataDir);
  project.provide('kubeconfig', kubeconfig);
  project.provide('endpoints', endpoints);
  project.provide('temporal', endpoints.temporal);
  project.provide('temporalNamespace', endpoints.temporalNamespace);
  return async () => {
    if (existing !== undefined) return;
    await down({ dataDir, progress: () => undefined });
    await rm(dataDir, { recursive: true, force: true });
  };
}
