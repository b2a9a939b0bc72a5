/** The manifest by which `kubectl krew` installs the command line as `kubectl dr`. */
import { stringify } from 'yaml';
import type { Target } from './command-line.js';

/** An archive, and the digest that krew checks it by. */
export interface KrewArchive {
  target: Target;
  file: string;
  sha256: string;
}

/**
 * Writes the manifest.
 *
 * @param options.url - where the files of the release are; without a slash at the end
 * @param options.homepage - page of the project
 */
export function krewManifest(options: {
  version: string;
  url: string;
  homepage: string;
  archives: readonly KrewArchive[];
}): string {
  const { version, url, homepage, archives } = options;
  return stringify(
    {
      apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
      kind: 'Plugin',
      metadata: { name: 'dr' },
      spec: {
        version: `v${version}`,
        homepage,
        shortDescription: 'Run and watch disaster-recovery plans of Drover',
        description:
          'Starts, watches, cancels and reverts executions of disaster-recovery plans, lists and describes them, and checks files of plans before they are applied.\n',
        caveats:
          'It needs Node.js 20.19 or newer on the PATH, or named by DROVER_NODE.\nThe cluster has to have Drover installed: "kubectl dr doctor" looks.\n',
        platforms: archives.map(({ target, file, sha256 }) => ({
          selector: { matchLabels: { os: target.os, arch: target.arch } },
          uri: `${url}/${file}`,
          sha256,
          files: [{ from: `${file.replace(/\.tar\.gz$/, '')}/*`, to: '.' }],
          bin: 'kubectl-dr',
        })),
      },
    },
    { lineWidth: 0 },
  );
}
