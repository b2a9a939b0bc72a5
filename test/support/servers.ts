/**
 * The servers of the worker process that runs this test file. Every worker has a stack of its own, which is whole when a
 * file begins (`whole-stack.ts`): so files run side by side, and what one of them kills, freezes or changes does not reach
 * another.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inject } from 'vitest';
import type { Endpoints } from '../../local/endpoints.js';
import { dataPaths } from '../../local/paths.js';
import { makeWhole } from './bring-up.js';

/** What is needed to reach a stack. */
export interface Servers {
  dataDir: string;
  /** File of an administrator. */
  kubeconfig: string;
  /** Address of Temporal. */
  temporal: string;
  temporalNamespace: string;
  endpoints: Endpoints;
}

async function open(): Promise<Servers> {
  const { root, dataDir: given } = inject('stacks');
  const dataDir = given ?? join(root, `stack-${process.env.VITEST_POOL_ID ?? '1'}`);
  // What tests put into the temporary folder goes with the run.
  process.env.TMPDIR = root;
  if (given === undefined) await makeWhole(dataDir);
  const endpoints = JSON.parse(await readFile(dataPaths(dataDir).endpoints, 'utf8')) as Endpoints;
  const { temporal, temporalNamespace } = endpoints;
  return { dataDir, kubeconfig: dataPaths(dataDir).kubeconfig, temporal, temporalNamespace, endpoints };
}

/** Of this worker; {@link renewServers} has filled it before the first line of a test file. */
export const servers = {} as Servers;

/** Makes the stack whole for the next file: the files of a worker share their modules. */
export async function renewServers(): Promise<void> {
  Object.assign(servers, await open());
}
