import type { OrgDocument, OrgHeading } from "./org.ts";

/** A line for a new property, written as the others are: those beside it, or of the first drawer of the file. */
export function propertyLine(
  org: OrgDocument,
  heading: OrgHeading,
  name: string,
  value: string,
): string {
  const model = heading.properties.length > 0 ? heading : modelOf(org);
  const indent = indentOf(org, heading);
  const start = `:${name}:`;
  return `${indent}${start.padEnd(columnOf(org, model) - 1)} ${value}`.trimEnd();
}

/** The white space before a new drawer: none, what the level asks for, or as elsewhere in the file. */
export function drawerIndent(org: OrgDocument, heading: OrgHeading): string {
  const model = modelOf(org);
  const indent = model?.drawer?.indent ?? "";
  const isByLevel = model !== undefined && indent === " ".repeat(model.level + 1);
  return isByLevel ? " ".repeat(heading.level + 1) : indent;
}

function modelOf(org: OrgDocument): OrgHeading | undefined {
  return org.headings.find((heading) => heading.properties.length > 0);
}

function indentOf(org: OrgDocument, heading: OrgHeading): string {
  const beside = heading.properties[0];
  if (beside !== undefined) return org.text.slice(beside.from, org.text.indexOf(":", beside.from));
  return heading.drawer?.indent ?? drawerIndent(org, heading);
}

/** Where values begin if they are aligned, counted from the first colon; 0 if one space is the rule. */
function columnOf(org: OrgDocument, model: OrgHeading | undefined): number {
  let column = 0;
  for (const { from, name, value, valueFrom } of model?.properties ?? []) {
    const start = valueFrom - org.text.indexOf(":", from);
    // A name that is too long for the column says nothing about it.
    if (value !== "" && start > name.length + 3) column = Math.max(column, start);
  }
  return column;
}
