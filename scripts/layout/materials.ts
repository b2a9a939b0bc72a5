/** Bills of materials in the format of CycloneDX. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { InstalledPackage } from './packages.js';

interface Bill {
  components: { 'bom-ref': string; name: string; version: string }[];
  dependencies: { ref: string; dependsOn?: string[] }[];
  metadata: { component?: { 'bom-ref': string } };
}

/**
 * What npm says of the packages of a tree: those that are bundled are in no folder where a scanner of images would find
 * them.
 *
 * @param packages - those that are passed on; `all`: whatever is not for development
 */
export async function billOfMaterials(
  root: string,
  packages: readonly InstalledPackage[] | 'all',
): Promise<string> {
  const omit = packages === 'all' ? ['--omit', 'dev'] : [];
  const { stdout } = await promisify(execFile)('npm', ['sbom', '--sbom-format', 'cyclonedx', ...omit], {
    cwd: root,
    maxBuffer: 64 * 1024 * 1024,
  });
  if (packages === 'all') return stdout;
  const bill = JSON.parse(stdout) as Bill;
  const kept = new Set(packages.map(({ name, version }) => `${name}@${version}`));
  // A name that npm gives to a package of another name is its own here.
  const components = bill.components.filter(({ 'bom-ref': ref, name, version }) =>
    [ref, `${name}@${version}`].some((id) => kept.has(id)),
  );
  const refs = new Set([
    ...components.map((one) => one['bom-ref']),
    ...(bill.metadata.component === undefined ? [] : [bill.metadata.component['bom-ref']]),
  ]);
  const dependencies = bill.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((other) => refs.has(other)) }));
  // npm calls the tree by the name of its folder.
  const component = bill.metadata.component && { ...bill.metadata.component, name: 'drover' };
  const metadata = { ...bill.metadata, ...(component !== undefined && { component }) };
  return `${JSON.stringify({ ...bill, metadata, components, dependencies }, null, 2)}\n`;
}
