import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { checkDigest, type Downloader } from './download.js';
import { versions } from './versions.js';

/** What machine to fetch a program for, in the words of Go. */
export interface GoTarget {
  os: 'linux' | 'darwin';
  arch: 'amd64' | 'arm64';
}

/** Where official releases are published. */
export interface ReleaseSources {
  kubernetes: string;
  helm: string;
  github: string;
  githubApi: string;
}

/** The official places. */
export const officialSources: ReleaseSources = {
  kubernetes: 'https://dl.k8s.io',
  helm: 'https://get.helm.sh',
  github: 'https://github.com',
  githubApi: 'https://api.github.com',
};

/** The target of this machine. @throws Error on a machine no program is published for. */
export function goTarget(platform: string = process.platform, arch: string = process.arch): GoTarget {
  const os = platform === 'linux' || platform === 'darwin' ? platform : undefined;
  const goarch = arch === 'x64' ? 'amd64' : arch === 'arm64' ? 'arm64' : undefined;
  if (os === undefined || goarch === undefined) {
    throw new Error(
      `the embedded default runs on Linux and macOS, amd64 and arm64; this is ${platform} ${arch}`,
    );
  }
  return { os, arch: goarch };
}

/** Gets the bytes of one program. */
export type Fetcher = (onBytes: (received: number) => void) => Promise<Buffer>;

/**
 * A Kubernetes program from the release bucket, checked against the digest
 * published beside it.
 *
 * @returns undefined where none is published (the server programs exist for Linux only).
 */
export function kubernetesRelease(
  downloader: Downloader,
  program: string,
  target: GoTarget,
  sources: ReleaseSources = officialSources,
): Fetcher | undefined {
  if (target.os !== 'linux' && program !== 'kubectl') return undefined;
  const url = `${sources.kubernetes}/release/v${versions.kubernetes}/bin/${target.os}/${target.arch}/${program}`;
  return async (onBytes) => {
    const digest = (await downloader.fetch(`${url}.sha256`)).toString('utf8').trim().split(/\s/)[0] ?? '';
    const content = await downloader.fetch(url, { onBytes });
    checkDigest(content, digest, url);
    return content;
  };
}

/** Helm from its own archive, checked against the digest published beside it. */
export function helmRelease(
  downloader: Downloader,
  { os, arch }: GoTarget,
  sources: ReleaseSources = officialSources,
): Fetcher {
  const file = `helm-v${versions.helm}-${os}-${arch}.tar.gz`;
  return async (onBytes) => {
    const url = `${sources.helm}/${file}`;
    const digest = (await downloader.fetch(`${url}.sha256sum`)).toString('utf8').trim().split(/\s/)[0] ?? '';
    const content = await downloader.fetch(url, { onBytes });
    checkDigest(content, digest, url);
    return extract(content, file, `${os}-${arch}/helm`);
  };
}

/** A file attached to a GitHub release. */
export interface GithubAsset {
  repository: string;
  tag: string;
  file: string;
  /** The path of the program inside, when the file is an archive. */
  inside?: string;
}

/** The release asset that holds a program for a target. */
export function githubAsset(
  program: 'etcd' | 'kwok' | 'promtool' | 'temporal',
  target: GoTarget,
): GithubAsset {
  const { os, arch } = target;
  switch (program) {
    case 'etcd': {
      const folder = `etcd-v${versions.etcd}-${os}-${arch}`;
      return {
        repository: 'etcd-io/etcd',
        tag: `v${versions.etcd}`,
        file: `${folder}.${os === 'linux' ? 'tar.gz' : 'zip'}`,
        inside: `${folder}/etcd`,
      };
    }
    case 'kwok':
      return { repository: 'kubernetes-sigs/kwok', tag: `v${versions.kwok}`, file: `kwok-${os}-${arch}` };
    case 'promtool': {
      const folder = `prometheus-${versions.prometheus}.${os}-${arch}`;
      return {
        repository: 'prometheus/prometheus',
        tag: `v${versions.prometheus}`,
        file: `${folder}.tar.gz`,
        inside: `${folder}/promtool`,
      };
    }
    case 'temporal':
      return {
        repository: 'temporalio/cli',
        tag: `v${versions.temporal}`,
        file: `temporal_cli_${versions.temporal}_${os}_${arch}.tar.gz`,
        inside: 'temporal',
      };
  }
}

/** A program from a GitHub release, checked against the digest GitHub computed when it was uploaded. */
export function githubRelease(
  downloader: Downloader,
  asset: GithubAsset,
  sources: ReleaseSources = officialSources,
): Fetcher {
  return async (onBytes) => {
    const api = `${sources.githubApi}/repos/${asset.repository}/releases/tags/${asset.tag}`;
    const release = JSON.parse((await downloader.fetch(api)).toString('utf8')) as {
      assets?: { name: string; digest?: string | null }[];
    };
    const digest = release.assets?.find((a) => a.name === asset.file)?.digest;
    if (!digest?.startsWith('sha256:')) {
      throw new Error(`${api} publishes no SHA-256 for ${asset.file}; an unchecked download is not used`);
    }
    const url = `${sources.github}/${asset.repository}/releases/download/${asset.tag}/${asset.file}`;
    const content = await downloader.fetch(url, { onBytes });
    checkDigest(content, digest.slice('sha256:'.length), url);
    return asset.inside === undefined ? content : extract(content, asset.file, asset.inside);
  };
}

async function extract(archive: Buffer, file: string, inside: string): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'drover-'));
  try {
    const path = join(folder, file);
    await writeFile(path, archive);
    // The tar of macOS reads zip files too, and zip is what macOS releases come in.
    await promisify(execFile)('tar', ['-xf', path, '-C', folder, inside]);
    return await readFile(join(folder, inside));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
