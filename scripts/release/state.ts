/** Whether a tree is ready to be released: what says its version, and what operators are told of it. */

/** What is looked at. */
export interface TreeState {
  version: string;
  /** Tag that is to be released, such as `v1.2.3`; absent: none yet. */
  tag?: string;
  /** Other places that state the version, each with what it says. */
  stated: Readonly<Record<string, string | undefined>>;
  changelog: string;
  /** Releases of which histories are kept (`test/replay/histories`). */
  histories: readonly string[];
  /** Files that are not committed. */
  uncommitted: readonly string[];
}

/** https://semver.org, without build metadata: tags of images cannot have a plus. */
const SEMANTIC_VERSION =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(?:0|[1-9]\d*|\d*[a-z-][0-9a-z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-z-][0-9a-z-]*))*)?$/i;

/** Heading of a release in the changelog: `## 1.2.3 (2026-01-31)`. */
const HEADING = /^## (\S+) \((.+)\)$/gm;

/** What keeps a tree from being released, one sentence each. */
export function problemsOf(state: TreeState): string[] {
  const { version, tag, stated, histories, uncommitted } = state;
  const problems: string[] = [];
  if (!SEMANTIC_VERSION.test(version))
    problems.push(`package.json: version ${version} is none of semver.org, such as 1.2.3 or 1.2.3-rc.1`);
  for (const [place, says] of Object.entries(stated))
    if (says !== version) problems.push(`${place}: ${says ?? 'nothing'}, and package.json says ${version}`);
  if (tag !== undefined && tag !== `v${version}`)
    problems.push(`tag ${tag}: package.json says ${version}, so it has to be v${version}`);
  problems.push(...problemsOfChangelog(state));
  const [release = ''] = version.split('-');
  if (!histories.includes(release))
    problems.push(`test/replay/histories/${release}: not recorded; docs/contributing.md says how`);
  if (uncommitted.length > 0) problems.push(`not committed: ${uncommitted.join(', ')}`);
  return problems;
}

function problemsOfChangelog({ version, changelog }: TreeState): string[] {
  const [newest] = changelog.matchAll(HEADING);
  const [, name, date = ''] = newest ?? [];
  // Candidates of a release share its section.
  if (name !== version && name !== version.split('-')[0])
    return [`CHANGELOG.md: the newest section is of ${name ?? 'no release'}, not of ${version}`];
  if (!version.includes('-') && !/^\d{4}-\d{2}-\d{2}$/.test(date))
    return [`CHANGELOG.md: release ${version} has no date but "${date}"`];
  return [];
}

/** What the changelog tells of a release: its section, without the heading. */
export function notesOf(changelog: string, version: string): string {
  const [release = ''] = version.split('-');
  const parts = changelog.split(/^## /m).slice(1);
  const part = parts.find((text) => [version, release].includes(text.split(' ', 1)[0] ?? ''));
  return part?.slice(part.indexOf('\n') + 1).trim() ?? '';
}
