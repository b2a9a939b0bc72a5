/** Which bridges and workers there are, and of which version: as Temporal sees them, and as Deployments declare them. */
import type { KubeClient } from '../../../../kube/client.js';
import { KubeError } from '../../../../kube/error.js';
import type { KubeObject } from '../../../../kube/object.js';
import { formatVersion, parseVersion } from '../../../../local/program-version.js';
import type { Pollers } from '../../../runs/runs.js';

/** Processes, or a Deployment of them. */
export interface FoundProgram {
  program: 'bridge' | 'worker';
  /** `Temporal`, or `Deployment NAMESPACE/NAME`. */
  where: string;
  /** Absent where it cannot be told. */
  version?: string;
  /** Name of the build, of processes that Temporal has seen. */
  build?: string;
  /** Whether runs stay with that build. */
  isPinning?: boolean;
  /** Processes that Temporal has seen within five minutes, or replicas that a Deployment is to have. */
  processes: number;
  /** When Temporal has last seen one of the processes. */
  lastSeen?: string;
}

type Deployment = KubeObject & {
  spec?: { replicas?: number; template?: { spec?: { containers?: { image?: string }[] } } };
};

const NAME = 'app.kubernetes.io/name';
const COMPONENT = 'app.kubernetes.io/component';
const VERSION = 'app.kubernetes.io/version';

/** Bridges and workers as Temporal sees them. A build is called after its version, unless it was given another name. */
export const programsOfTemporal = (pollers: readonly Pollers[]): FoundProgram[] =>
  pollers.map(({ program, build, isPinning, processes, lastSeen }) => {
    const version = versionIn(build);
    return {
      program,
      where: 'Temporal',
      ...(version !== undefined && { version }),
      ...(build !== undefined && { build }),
      ...(program === 'worker' && { isPinning }),
      processes,
      ...(lastSeen !== undefined && { lastSeen: lastSeen.toISOString() }),
    };
  });

/**
 * Bridges and workers that Deployments declare; undefined where they may not be listed.
 *
 * @throws KubeError when the API server does not answer
 */
export async function programsOfCluster(kube: Pick<KubeClient, 'list'>): Promise<FoundProgram[] | undefined> {
  try {
    const { items } = await kube.list<Deployment>(
      { apiVersion: 'apps/v1', kind: 'Deployment' },
      { labelSelector: `${NAME}=drover` },
    );
    return items.flatMap((deployment) => programOf(deployment) ?? []);
  } catch (error) {
    if (error instanceof KubeError && error.code === 403) return undefined;
    throw error;
  }
}

function programOf({ metadata, spec }: Deployment): FoundProgram | undefined {
  const program = metadata.labels?.[COMPONENT];
  if (program !== 'bridge' && program !== 'worker') return undefined;
  const image = spec?.template?.spec?.containers?.[0]?.image;
  // The tag says what runs; a label may have been left as it was.
  const version = versionIn(/:([^/@]+)(@|$)/.exec(image ?? '')?.[1]) ?? versionIn(metadata.labels?.[VERSION]);
  return {
    program,
    where: `Deployment ${metadata.namespace}/${metadata.name}`,
    ...(version !== undefined && { version }),
    processes: spec?.replicas ?? 1,
  };
}

/** The version that a text begins with; undefined for `blue`, and for no text. */
function versionIn(text: string | undefined): string | undefined {
  if (text === undefined || !/^v?\d+\.\d+\.\d+/.test(text)) return undefined;
  const version = parseVersion(text.replace(/[-+].*$/, ''));
  return version === undefined ? undefined : formatVersion(version);
}
