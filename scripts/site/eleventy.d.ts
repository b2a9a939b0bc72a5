/** What is used of Eleventy, which has no types of its own. */
declare module '@11ty/eleventy' {
  /** A piece of a page, as markdown-it reads it. */
  export interface Token {
    type: string;
    tag: string;
    info: string;
    content: string;
    children: Token[] | null;
    attrGet(name: string): string | null;
    attrSet(name: string, value: string): void;
  }
  export interface MarkdownState {
    tokens: Token[];
    /** The data of the page. */
    env: Record<string, unknown>;
  }
  export type Render = (tokens: Token[], index: number, ...more: unknown[]) => string;
  export interface Markdown {
    core: { ruler: { push(name: string, rule: (state: MarkdownState) => void): void } };
    renderer: { rules: Record<string, Render | undefined> };
    utils: { escapeHtml(text: string): string };
  }
  export interface UserConfig {
    addTemplate(path: string, content: string, data: Record<string, unknown>): void;
    addPassthroughCopy(paths: Record<string, string>): void;
    addGlobalData(name: string, value: unknown): void;
    addFilter(name: string, filter: (value: string) => unknown): void;
    amendLibrary(name: 'md', amend: (library: Markdown) => void): void;
    setTemplateFormats(formats: string[]): void;
    setUseGitIgnore(use: boolean): void;
  }
  export default class Eleventy {
    constructor(
      input: string,
      output: string,
      options: { configPath: false; quietMode: boolean; config: (config: UserConfig) => void },
    );
    write(): Promise<unknown>;
  }
}
