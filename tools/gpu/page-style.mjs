/** The page's whole style sheet: the colors and forms of the precision report. */
export const style = `
:root { color-scheme: light dark; --page: #fbfbfa; --panel: #ffffff; --ink: #1c2127; --muted: #59636e; --line: #e2e5e9; }
@media (prefers-color-scheme: dark) {
  :root { --page: #14171b; --panel: #1b1f25; --ink: #e4e8ed; --muted: #9aa4af; --line: #2e343c; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1220px; margin: 0 auto; padding: 28px 16px 56px; }
h1 { font-size: 26px; line-height: 1.25; margin: 0 0 4px; }
h2 { font-size: 19px; margin: 0 0 6px; }
h3 { font-size: 14px; font-weight: 600; margin: 12px 0 4px; }
section { margin-top: 40px; }
li { overflow-wrap: anywhere; }
pre { overflow-x: auto; padding: 10px; background: var(--panel); border: 1px solid var(--line); border-radius: 8px; font-size: 12.5px; }
.note { color: var(--muted); font-size: 13px; }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(165px, 1fr)); gap: 12px 20px; margin: 18px 0 0; }
.facts dt { color: var(--muted); font-size: 12.5px; }
.facts dd { margin: 0; font-weight: 600; overflow-wrap: anywhere; }
.table { overflow-x: auto; border: 1px solid var(--line); border-radius: 8px; background: var(--panel); margin: 8px 0 12px; }
table { border-collapse: collapse; font-size: 13px; width: 100%; }
th, td { text-align: left; padding: 5px 10px; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { color: var(--muted); font-weight: 500; }
tbody tr:last-child td { border-bottom: 0; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
th:first-child, td:first-child { position: sticky; left: 0; background: var(--panel); }
footer { margin-top: 44px; padding-top: 14px; border-top: 1px solid var(--line); color: var(--muted); font-size: 13px; }
`;
