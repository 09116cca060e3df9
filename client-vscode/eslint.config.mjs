/** The rules of the code: types are strict, nothing is printed, and every promise is looked after. */

import js from "@eslint/js";
import { defineConfig, globalIgnores } from "eslint/config";
import typescript from "typescript-eslint";

export default defineConfig(
    globalIgnores([
        "out/",
        "media/loop.js",
        "media/dashboard.js",
        "src/generated/",
        "node_modules/",
    ]),
    js.configs.recommended,
    {
        files: ["**/*.ts"],
        extends: [typescript.configs.strictTypeChecked, typescript.configs.stylisticTypeChecked],
        languageOptions: { parserOptions: { projectService: true } },
        rules: {
            "no-console": "error",
            eqeqeq: "error",
            "@typescript-eslint/no-explicit-any": "error",
            "@typescript-eslint/switch-exhaustiveness-check": [
                "error",
                { considerDefaultExhaustiveForUnions: true },
            ],
            "@typescript-eslint/explicit-module-boundary-types": "error",
            "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
            // Strictest asks for `["key"]` where a type has no such field.
            "@typescript-eslint/dot-notation": "off",
        },
    },
    {
        files: ["**/*.mjs"],
        languageOptions: { globals: { console: "readonly", process: "readonly", URL: "readonly" } },
    },
);
