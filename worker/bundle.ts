/** Builds the workflow bundle beside the program, so that a worker starts without webpack. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

/** Where the build leaves the bundle and where a worker looks for it. */
export const BUNDLE_PATH = fileURLToPath(new URL('../workflow-bundle.js', import.meta.url));

/** Bundles `workflows/` as Temporal's sandbox wants it. The bundle fits only this very SDK version. */
export async function buildBundle(target = BUNDLE_PATH): Promise<{ bytes: number }> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('../workflows/index.js', import.meta.url)),
    // Silent but for faults, which come as exceptions.
    logger: new DefaultLogger('ERROR'),
  });
  await mkdir(dirname(target), { recursive: true });
  await writeFile(target, code);
  return { bytes: Buffer.byteLength(code) };
}
