/** The style sheet of an export: the palette of the page (§29), without its parts that move. */
export const STYLE = `:root{color-scheme:light dark;--bg:#f6f7f5;--surface:#fff;--raised:#eff2ee;--line:#e2e6e1;--text:#161d1a;--text-2:#46514c;--text-3:#5a6560;--accent:#0a6f6a;--waiting:#5a6560;--ready:#46514c;--working:#1a5cc8;--review:#8d5600;--done:#196d36;--failed:#b8242c}
@media (prefers-color-scheme:dark){:root{--bg:#0d100f;--surface:#131716;--raised:#1b201e;--line:#232a27;--text:#e6ebe8;--text-2:#a9b3ae;--text-3:#8d9893;--accent:#4ac7b9;--waiting:#8d9893;--ready:#a9b3ae;--working:#6ea8ff;--review:#e0ad45;--done:#58c074;--failed:#f47a76}}
*,*::before,*::after{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--text);font:14px/1.5 -apple-system,"Segoe UI",Roboto,"Noto Sans","Liberation Sans",Arial,sans-serif;font-variant-numeric:tabular-nums}
h1,h2,h3,p,ul,ol,dl,dd,pre,figure{margin:0;padding:0}
h1{font-size:22px;line-height:1.25;overflow-wrap:anywhere}h2{font-size:15px}h3{font-size:13px}
ul,ol{list-style:none}
a{color:inherit;text-underline-offset:3px}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px;border-radius:4px}
code,pre,.id{font-family:ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:12px}
.skip{position:absolute;left:8px;top:-60px;padding:8px 12px;background:var(--accent);color:var(--bg);border-radius:6px}.skip:focus{top:8px}
.bar{display:flex;flex-wrap:wrap;gap:4px 24px;align-items:center;padding:12px 24px;background:var(--surface);border-bottom:1px solid var(--line)}
.bar b{overflow-wrap:anywhere}.bar nav{display:flex;gap:16px}.bar nav a{padding:4px 0;color:var(--text-2);text-decoration:none;border-bottom:2px solid transparent}
.bar nav a:hover{color:var(--text)}.bar nav a[aria-current]{color:var(--text);border-color:var(--accent)}
main{padding:24px;display:grid;gap:16px;grid-template-columns:minmax(0,1fr)}
footer{padding:0 24px 32px;color:var(--text-3);font-size:12px}
.panel{background:var(--surface);border:1px solid var(--line);border-radius:8px;min-width:0}
.panel>h2{padding:9px 16px;border-bottom:1px solid var(--line)}
.panel>.pad{padding:12px 16px 16px}.panel>.pad>*+*{margin-top:8px}
.n,.dim{color:var(--text-3);font-weight:400}.dim{font-size:12px}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(140px,1fr));gap:16px}
.figures div{background:var(--surface);border:1px solid var(--line);border-radius:8px;padding:12px 16px}
.figures dt{color:var(--text-3);font-size:12px}.figures dd{font-size:22px;line-height:1.3;overflow-wrap:anywhere}
table{width:100%;border-collapse:collapse}td,th{padding:7px 16px 7px 0;border-top:1px solid var(--line);text-align:left;vertical-align:top;overflow-wrap:break-word}
tr:first-child>td,tr:first-child>th{border-top:0}th{font-weight:600;color:var(--text-2);font-size:12px;line-height:21px;white-space:nowrap}th[scope=row],td.no{width:1%}
.scroll{overflow-x:auto}
td.no{white-space:nowrap;overflow-wrap:normal}
code.cmd{display:inline-block;padding:2px 6px;border-radius:4px;background:var(--raised);color:var(--text-2);overflow-wrap:anywhere}
pre{padding:12px;border-radius:6px;background:var(--raised);white-space:pre-wrap;overflow-wrap:anywhere;line-height:1.5}
.chip{display:inline-block;padding:0 7px;border-radius:4px;font-size:12px;line-height:20px;color:var(--c,var(--text-2));border:1px solid var(--c,var(--line))}
.tag{display:inline-block;padding:0 5px;border:1px solid var(--line);border-radius:4px;font-size:11px;line-height:18px;color:var(--text-2);overflow-wrap:anywhere}
.s-waiting{--c:var(--waiting)}.s-ready{--c:var(--ready)}.s-working{--c:var(--working)}.s-review{--c:var(--review)}.s-done{--c:var(--done)}.s-failed{--c:var(--failed)}
.good{color:var(--done)}.bad{color:var(--failed)}.warn{color:var(--review)}
.board{display:grid;grid-template-columns:repeat(6,minmax(180px,1fr));gap:16px;align-items:start;overflow-x:auto;padding-bottom:8px}
.col{min-width:0}.col>h2{display:flex;gap:8px;align-items:baseline;padding:0 2px 8px;border-bottom:2px solid var(--c);margin-bottom:8px}
.cards{display:grid;gap:8px;grid-template-columns:minmax(0,1fr)}
.card{background:var(--surface);border:1px solid var(--line);border-radius:6px;padding:8px 10px;overflow-wrap:anywhere}
.card>*+*{margin-top:3px}.card .top{display:flex;gap:8px;justify-content:space-between;flex-wrap:wrap}
.card .fact{color:var(--text-2);font-size:12px}.card .tags{display:flex;flex-wrap:wrap;gap:4px}
.many{grid-template-columns:repeat(auto-fill,minmax(260px,1fr))}
.pages{display:flex;flex-wrap:wrap;gap:8px 16px}
.jump{display:none}
.strip{display:grid;gap:6px 16px;grid-template-columns:minmax(90px,160px) minmax(0,1fr) auto;align-items:center}
.strip svg{width:100%;height:22px;display:block}.strip .ground{fill:var(--raised)}.strip .busy{fill:var(--working)}
.strip span{overflow-wrap:anywhere}
dl.facts{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:4px 16px}dl.facts dt{color:var(--text-3)}dl.facts dd{overflow-wrap:anywhere}
@media (max-width:760px){body{font-size:15px}main{padding:16px 12px}.bar{padding:10px 12px}footer{padding:0 12px 24px}.board{grid-template-columns:minmax(0,1fr);overflow:visible;gap:24px}.jump{display:flex;flex-wrap:wrap;gap:8px 14px}.jump a{padding:6px 0}.strip{grid-template-columns:minmax(0,1fr)}td,th{padding-right:10px}dl.facts{grid-template-columns:minmax(0,1fr)}}
@media print{.bar nav,.skip{display:none}}
`;
