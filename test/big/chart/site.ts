/** A cluster of its own for the chart, as it would be without any Drover in it, and commands of the manual that are run there. */
import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { createKubeClient } from '../../../kube/kubeconfig-client.js';
import type { KubeClient } from '../../../kube/client.js';
import { loadKubeConfig } from '../../../kube/config.js';
import type { KubeObject } from '../../../kube/object.js';
import { SEAL_SECRET } from '../../../kube/seal-secret.js';
import { findPrograms } from '../../../local/binaries.js';
import { down, up } from '../../../local/index.js';
import { dataPaths } from '../../../local/paths.js';
import { openHelm } from '../../../scripts/chart/helm.js';
import type { Helm } from '../../../scripts/chart/helm.js';
import { CHART } from '../../../scripts/chart/renders.js';
import { servers } from '../../support/servers.js';

const exec = promisify(execFile);

export interface Site {
  kube: KubeClient;
  kubeconfig: string;
  helm: Helm;
  /** A folder in which `deploy/chart` is the chart of this release. */
  release: string;
  /** Runs a line of the manual in a folder; resolves to its output, rejects when it fails. */
  shell(line: string, cwd: string): Promise<string>;
  /** A folder in which `deploy/chart` is another release of the chart. */
  otherRelease(version: string, change: (folder: string) => Promise<void>): Promise<string>;
  stop(): Promise<void>;
}

/**
 * Brings up an empty cluster with a node whose pods kwok moves.
 *
 * @param options.name folder of its own. Default `chart`
 * @param options.temporal address of the Temporal that its programs use. Default the stack's
 */
export async function openSite({
  name: folderName = 'chart',
  temporal = servers.temporal,
}: { name?: string; temporal?: string } = {}): Promise<Site> {
  const root = join(tmpdir(), folderName);
  const dataDir = join(root, 'cluster');
  const progress = (): void => undefined;
  const [, { kubectl, helm: found }] = await Promise.all([
    up({ dataDir, ephemeral: true, temporal, webhook: false, progress }),
    findPrograms({ names: ['kubectl', 'helm'], progress }),
  ]);
  const { kubeconfig } = dataPaths(dataDir);
  const helm = await openHelm({ home: join(root, 'helm'), kubeconfig, progress });
  const kube = createKubeClient(loadKubeConfig({ file: kubeconfig }));
  const PATH = [found, kubectl]
    .map(({ path }) => resolve(path, '..'))
    .concat(process.env.PATH ?? '')
    .join(delimiter);
  const env = {
    ...process.env,
    PATH,
    KUBECONFIG: kubeconfig,
    HELM_CACHE_HOME: join(root, 'helm'),
    HELM_CONFIG_HOME: join(root, 'helm'),
    HELM_DATA_HOME: join(root, 'helm'),
  };
  const folder = async (name: string): Promise<string> => {
    const path = join(root, name);
    await mkdir(join(path, 'deploy'), { recursive: true });
    return path;
  };
  const release = await folder('this-release');
  for (const name of ['chart', 'crds', 'kustomize'])
    await cp(`deploy/${name}`, join(release, 'deploy', name), { recursive: true });
  return {
    kube,
    kubeconfig,
    helm,
    release,
    shell: async (line, cwd) => (await exec('sh', ['-c', line], { cwd, env, maxBuffer: 64 << 20 })).stdout,
    async otherRelease(version, change) {
      const path = await folder(version);
      const chart = join(path, 'deploy/chart');
      await cp(CHART, chart, { recursive: true });
      const file = join(chart, 'Chart.yaml');
      await writeFile(
        file,
        (await readFile(file, 'utf8')).replace(/^((?:appV|v)ersion): .*$/gm, `$1: ${version}`),
      );
      await change(chart);
      return path;
    },
    async stop() {
      await down({ dataDir, progress });
    },
  };
}

/** The ring of keys of seals of an installation, as its Secret has it; undefined where there is none. */
export const ringIn = async (
  { kube }: Pick<Site, 'kube'>,
  namespace: string,
): Promise<Record<string, string> | undefined> =>
  (
    await kube.get<KubeObject & { data: Record<string, string> }>({
      apiVersion: 'v1',
      kind: 'Secret',
      namespace,
      name: SEAL_SECRET,
    })
  )?.data;

/** The commands and the values of a page, by the heading below which they stand. */
export async function blocksOf(
  page: string,
  language: 'sh' | 'yaml',
): Promise<(heading: string) => string[]> {
  const sections = (await readFile(page, 'utf8')).split(/^#+ /m);
  return (heading) => {
    const section = sections.find((text) => text.startsWith(`${heading}\n`));
    if (section === undefined) throw new Error(`${page} has no heading "${heading}"`);
    const blocks = [...section.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\``, 'gm'))].map(
      ([, block = '']) => block,
    );
    return language === 'yaml' ? blocks : blocks.flatMap((block) => block.trim().split('\n'));
  };
}
