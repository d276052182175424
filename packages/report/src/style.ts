/** Colors of light and dark pages, as custom properties. */
export const palettes: Readonly<Record<"light" | "dark", string>> = {
  light: `
  --page: #fbfbfa; --panel: #ffffff; --ink: #1c2127; --muted: #59636e; --line: #e2e5e9; --axis: #8b949e;
  --half: #2f6fd0; --single: #a3b1c2; --heat: #2f6fd0;
  --zero: #b04a8b; --subnormal: #d9952a; --normal: #3f9477; --infinite: #cf3a36;`,
  dark: `
  --page: #14171b; --panel: #1b1f25; --ink: #e4e8ed; --muted: #9aa4af; --line: #2e343c; --axis: #6b7580;
  --half: #6aa5f8; --single: #5b6878; --heat: #74adfb;
  --zero: #d583b6; --subnormal: #e5ae55; --normal: #5db998; --infinite: #f0716b;`,
};

export const fonts: string = `system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif`;

/** The style sheet of the page. */
export const style: string = `
:root {
  color-scheme: light dark;${palettes.light}
}
@media (prefers-color-scheme: dark) {
  :root {${palettes.dark}
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.55 ${fonts};
}
main { max-width: 1220px; margin: 0 auto; padding: 28px 16px 56px; }
h1 { font-size: 26px; line-height: 1.25; margin: 0 0 4px; letter-spacing: -0.01em; overflow-wrap: anywhere; }
h2 { font-size: 19px; line-height: 1.3; margin: 0 0 6px; }
h3 { font-size: 14px; font-weight: 600; line-height: 1.35; margin: 0 0 4px; }
p, ul { max-width: 78ch; margin: 0 0 12px; }
section { margin-top: 40px; }
section > ul { padding-left: 20px; }
li { margin-bottom: 4px; overflow-wrap: anywhere; }
code { font: 0.92em ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
.note, figcaption { color: var(--muted); font-size: 13px; }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(165px, 1fr)); gap: 12px 20px; margin: 18px 0 0; }
.facts dt { color: var(--muted); font-size: 12.5px; }
.facts dd { margin: 0; font-size: 16px; font-weight: 600; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 560px), 1fr)); gap: 16px; margin: 12px 0; }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 340px), 1fr)); gap: 16px; margin: 12px 0; }
.columns > div { display: flex; flex-direction: column; gap: 16px; min-width: 0; }
.words { min-width: 0; }
.words ul { padding-left: 20px; margin-bottom: 10px; }
.words li { margin-bottom: 8px; }
figure { margin: 0; padding: 14px 14px 10px; background: var(--panel); border: 1px solid var(--line); border-radius: 8px; min-width: 0; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 2px 14px; padding: 0; margin: 0 0 4px; color: var(--muted); font-size: 12.5px; }
.legend li { margin: 0; display: flex; align-items: center; gap: 6px; }
.legend i { width: 10px; height: 10px; border-radius: 2px; flex: none; }
.plot { --plot-background: var(--panel); display: block; width: 100%; height: auto; color: var(--muted); font-family: inherit; overflow: visible; max-width: 460px; }
.plot text { white-space: pre; font-variant-numeric: tabular-nums; }
.narrow { display: none; }
.plot.wide { max-width: 640px; }
@media (max-width: 599px) {
  main { padding: 20px 12px 40px; }
  h1 { font-size: 22px; }
  figure { padding: 12px 10px 8px; }
  .narrow { display: block; }
  .wide { display: none; }
}
.results dd { font-size: 24px; line-height: 1.25; }
.cards { list-style: none; padding: 0; margin: 8px 0 12px; border: 1px solid var(--line); border-radius: 8px; background: var(--panel); font-size: 13px; }
.cards li { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 12px; margin: 0; padding: 8px 10px; border-bottom: 1px solid var(--line); }
.cards li:last-child { border-bottom: 0; }
.cards p { flex: 1 0 100%; margin: 0; color: var(--muted); }
details { margin-top: 12px; }
summary { cursor: pointer; color: var(--muted); padding: 4px 0; }
summary:hover { color: var(--ink); }
.table { overflow-x: auto; border: 1px solid var(--line); border-radius: 8px; background: var(--panel); margin: 8px 0 12px; max-width: 100%; }
.table:focus-visible, summary:focus-visible { outline: 2px solid var(--half); outline-offset: 2px; }
table { border-collapse: collapse; font-size: 13px; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 5px 10px; border-bottom: 1px solid var(--line); }
th { color: var(--muted); font-weight: 500; white-space: nowrap; }
tbody tr:last-child td { border-bottom: 0; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td { white-space: nowrap; }
td.words { white-space: normal; min-width: 17em; }
td.name { white-space: normal; overflow-wrap: anywhere; min-width: 10em; }
th:first-child, td:first-child { position: sticky; left: 0; background: var(--panel); }
b.f16, b.bf16 { color: var(--half); }
b { font-weight: 600; }
@media print { figure, .table { break-inside: avoid; } }
`;
