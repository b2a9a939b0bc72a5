// Draws the diagrams of a page, in its colours.
mermaid.initialize({
  startOnLoad: true,
  securityLevel: 'loose',
  theme: matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'neutral',
});
