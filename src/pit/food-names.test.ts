import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holds } from "../../test/support/property.ts";
import { isName } from "../base/names.ts";
import {
  foodId,
  idOfDone,
  idOfFood,
  numberOf,
  resultIdOf,
  resultName,
  slugOf,
  splitClaimName,
  unprovenName,
  unprovenNumberOf,
  whyNotFoodId,
  whyNotSnake,
} from "./food-names.ts";

test.each([
  ["food-0007-x", 7],
  ["food-7-x", 7],
  ["food-7", 7],
  ["food-0000-x", 0],
  ["food-12345-x", 12345],
  ["food-000000000000000000000000000000000012-x", 12],
  ["food-99999999999999999999-x", null],
  ["food-x", null],
  ["food-7x", null],
  ["keeper-food-0007-x", null],
  ["Food-7", null],
  ["", null],
])("the number of %s is %s", (id, number) => {
  expect(numberOf(id)).toBe(number);
});

test.each([
  [
    "Implement a `reverse(s)` function in scraps/reverse.py",
    "implement-a-reverse-s-function-in-scraps",
  ],
  ["Größe prüfen", "grosse-prufen"],
  ["Ærø, Łódź & co.", "aero-lodz-co"],
  ["don't stop", "dont-stop"],
  ["ﬁx ① thing", "fix-1-thing"],
  ["测试", "food"],
  ["  --- ", "food"],
  ["", "food"],
  ["x".repeat(90), "x".repeat(40)],
])("the slug of %j is %s", (text, slug) => {
  expect(slugOf(text)).toBe(slug);
});

test("a slug is short, plain and has no hyphen too many", () => {
  holds(
    fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
      const slug = slugOf(text);
      expect(slug).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
      expect(slug.length).toBeLessThanOrEqual(40);
    }),
  );
});

describe("foodId", () => {
  test("at least four digits", () => {
    expect(foodId(7, "reverse-string")).toBe("food-0007-reverse-string");
    expect(foodId(12345, "x")).toBe("food-12345-x");
    expect(foodId(1, "")).toBe("food-0001");
    expect(foodId(1, "../a.result")).toBe("food-0001--a-result");
  });

  test.each([-1, 1.5, Number.NaN, 2 ** 60])("%s is no number of a food", (number) => {
    expect(() => foodId(number, "x")).toThrow(/number/);
  });

  test("is always a name that a pit takes, and has its number", () => {
    const numbers = fc.integer({ min: 0, max: 999_999_999_999_999 });
    holds(
      fc.property(numbers, fc.string({ maxLength: 300 }), (number, slug) => {
        const id = foodId(number, slug);
        expect(isName(id)).toBe(true);
        expect(whyNotFoodId(id)).toBeNull();
        expect(numberOf(id)).toBe(number);
      }),
    );
  });
});

test.each([
  ["snake-2.food-0007-x.md", { worker: "snake-2", id: "food-0007-x" }],
  ["a.b.food-1-x.md", { worker: "a.b", id: "food-1-x" }],
  ["snake.keeper-food-1.2.md", { worker: "snake", id: "keeper-food-1.2" }],
  ["snake.food-1.food-2.md", { worker: "snake", id: "food-1.food-2" }],
  ["s.x.md", { worker: "s", id: "x" }],
  ["food-0007-x.md", null],
  [".food-0007-x.md", null],
  [".s.x.md", null],
  ["s..md", null],
  ["s.md", null],
  ["s.x", null],
  ["s.x.MD", null],
  ["a/s.x.md", null],
  [".md", null],
  ["", null],
])("the claim %s is of %j", (name, parts) => {
  expect(splitClaimName(name)).toEqual(parts);
});

test("a claim's name gives back its worker and food", () => {
  const names = fc.stringMatching(/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,30}$/);
  holds(
    fc.property(names, names, (worker, id) => {
      fc.pre(whyNotSnake(worker) === null && whyNotFoodId(id) === null);
      expect(splitClaimName(`${worker}.${id}.md`)).toEqual({ worker, id });
      expect(idOfFood(`${id}.md`)).toBe(id);
      expect(idOfDone(`${id}.md`)).toBe(id);
      expect(idOfDone(resultName(id))).toBeNull();
      expect(resultIdOf(resultName(id))).toBe(id);
      expect(resultIdOf(`${id}.md`)).toBeNull();
      expect(idOfDone(unprovenName(id, 3))).toBeNull();
      expect(unprovenNumberOf(unprovenName(id, 3))).toBe(3);
      expect(unprovenNumberOf(`${id}.md`)).toBeNull();
    }),
  );
});

test.each([
  ["x.md", "x"],
  ["my food.md", "my food"],
  ["README.md", null],
  ["ReadMe.md", null],
  [".x.md", null],
  ["x.txt", null],
  [".md", null],
])("%s in food/ is %s", (name, id) => {
  expect(idOfFood(name)).toBe(id);
});

test("hidden files are no results", () => {
  expect(resultIdOf(".result.md")).toBeNull();
  expect(resultIdOf(".x.result.md")).toBeNull();
  expect(unprovenNumberOf(".x.unproven-1.md")).toBeNull();
  expect(idOfDone("README.md")).toBeNull();
});

test.each([
  ["a.food-1", /leave out the dot/],
  ["a.result", /another end/],
  [".result", /another end/],
  ["a.unproven-12", /another end/],
  ["readme", /choose another/],
  ["README", /choose another/],
])("%s cannot lie in a pit", (id, sentence) => {
  expect(whyNotFoodId(id)).toMatch(sentence);
});

test.each(["food-1", "a.results", "a.unproven-x", "a.unproven", "readme-2", "result"])(
  "%s can lie in a pit",
  (id) => {
    expect(whyNotFoodId(id)).toBeNull();
  },
);

test.each([
  ["", /use only letters/],
  ["a.b", /write "-" instead/],
  ["..", /write "-" instead/],
  ["a/b", /use only/],
  ["a b", /use only/],
  ["x".repeat(65), /at most 64/],
])("%j cannot name a snake", (name, sentence) => {
  expect(whyNotSnake(name)).toMatch(sentence);
});

test("a snake's name", () => {
  expect(whyNotSnake("snake-2")).toBeNull();
});
