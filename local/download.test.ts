import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  githubAsset,
  githubRelease,
  goTarget,
  helmRelease,
  kubernetesRelease,
  type ReleaseSources,
} from './binaries-release.js';
import { checkDigest, createDownloader, type Downloader } from './download.js';
import { versions } from './versions.js';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const linux = { os: 'linux', arch: 'amd64' } as const;

let server: Server;
let files: Record<string, string>;
let asked: string[];
let sources: ReleaseSources;
let downloader: Downloader;
beforeEach(async () => {
  files = {};
  asked = [];
  server = createServer((request, response) => {
    asked.push(request.url!);
    const content = files[request.url!];
    response.statusCode = content === undefined ? 404 : 200;
    response.end(content);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  sources = { kubernetes: base, helm: base, github: base, githubApi: base };
  downloader = createDownloader({});
});
afterEach(async () => {
  await downloader.close();
  await new Promise((resolve) => server.close(resolve));
});

describe('a Kubernetes release', () => {
  const path = `/release/v${versions.kubernetes}/bin/linux/amd64/kube-scheduler`;
  const get = (): Promise<Buffer> =>
    kubernetesRelease(downloader, 'kube-scheduler', linux, sources)!(() => undefined);

  it('is taken when it has the digest published beside it', async () => {
    files = { [path]: 'program', [`${path}.sha256`]: `${sha256('program')}\n` };
    expect((await get()).toString()).toBe('program');
  });

  it('is refused when it has another digest', async () => {
    files = { [path]: 'tampered', [`${path}.sha256`]: sha256('program') };
    await expect(get()).rejects.toThrow(/has SHA-256 .* was published; it was not used/);
  });

  it('is refused when no digest is published', async () => {
    files = { [path]: 'program' };
    await expect(get()).rejects.toThrow(/\.sha256 answered 404/);
    expect(asked).toEqual([`${path}.sha256`]);
  });

  it('does not exist for the server programs on macOS', () => {
    const mac = { os: 'darwin', arch: 'arm64' } as const;
    expect(kubernetesRelease(downloader, 'kube-apiserver', mac, sources)).toBeUndefined();
    expect(kubernetesRelease(downloader, 'kubectl', mac, sources)).toBeDefined();
  });
});

describe('a GitHub release', () => {
  const asset = githubAsset('kwok', linux);
  const api = `/repos/${asset.repository}/releases/tags/${asset.tag}`;
  const file = `/${asset.repository}/releases/download/${asset.tag}/${asset.file}`;
  const get = (): Promise<Buffer> => githubRelease(downloader, asset, sources)(() => undefined);

  it('is taken when it has the digest GitHub states', async () => {
    const assets = [{ name: asset.file, digest: `sha256:${sha256('kwok')}` }];
    files = { [api]: JSON.stringify({ assets }), [file]: 'kwok' };
    expect((await get()).toString()).toBe('kwok');
  });

  it('is not even fetched when no digest is stated', async () => {
    files = { [api]: JSON.stringify({ assets: [{ name: asset.file, digest: null }] }), [file]: 'kwok' };
    await expect(get()).rejects.toThrow(/publishes no SHA-256 for kwok-linux-amd64/);
    expect(asked).toEqual([api]);
  });
});

it('Helm is refused when its archive has another digest than the one published beside it', async () => {
  const archive = `/helm-v${versions.helm}-linux-amd64.tar.gz`;
  files = { [archive]: 'tampered', [`${archive}.sha256sum`]: `${sha256('archive')}  helm.tar.gz\n` };
  await expect(helmRelease(downloader, linux, sources)(() => undefined)).rejects.toThrow(
    /has SHA-256 .* was published; it was not used/,
  );
});

describe('the downloader', () => {
  it('asks a host that does not answer only once', async () => {
    const port = (server.address() as AddressInfo).port;
    await new Promise((resolve) => server.close(resolve));
    const url = `http://127.0.0.1:${port}/x`;
    await expect(downloader.fetch(url)).rejects.toThrow('cannot be reached (ECONNREFUSED)');
    server.listen(port, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    files = { '/x': 'x' };
    await expect(downloader.fetch(url)).rejects.toThrow('cannot be reached');
    expect(asked).toEqual([]);
  });

  it('tells how much has arrived', async () => {
    files = { '/x': 'x'.repeat(1000) };
    const seen: number[] = [];
    const port = (server.address() as AddressInfo).port;
    await downloader.fetch(`http://127.0.0.1:${port}/x`, { onBytes: (n) => seen.push(n) });
    expect(seen.at(-1)).toBe(1000);
  });
});

describe('goTarget', () => {
  it('names machines as Go does', () => {
    expect(goTarget('darwin', 'arm64')).toEqual({ os: 'darwin', arch: 'arm64' });
    expect(goTarget('linux', 'x64')).toEqual({ os: 'linux', arch: 'amd64' });
    expect(() => goTarget('win32', 'x64')).toThrow(/Linux and macOS.*win32 x64/);
  });
});

describe('checkDigest', () => {
  it('takes capital letters too', () => {
    expect(() => checkDigest(Buffer.from('a'), sha256('a').toUpperCase(), 'a')).not.toThrow();
  });
});
