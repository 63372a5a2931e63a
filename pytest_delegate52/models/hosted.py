"""Hosted models through litellm, imported on the first use: it takes seconds and 190 MB."""

from __future__ import annotations

import asyncio
import os
import time
from functools import cache
from typing import Any

from pytest_delegate52 import tokens
from pytest_delegate52.models import Completion, ModelError, Request, UnusableModel
from pytest_delegate52.settings import Settings

ATTEMPTS = 6
LONGEST_WAIT = 120.0  # seconds between two attempts, whatever Retry-After says


@cache
def _litellm() -> Any:
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it looks up a host when imported
    import litellm

    litellm.suppress_debug_info = True
    litellm.drop_params = True  # a temperature where the model takes none
    litellm.telemetry = False
    return litellm


class Hosted:
    """Any model that litellm knows how to reach."""

    small = False

    def __init__(self, name: str, settings: Settings) -> None:
        self.name = name
        self.settings = settings
        self._window: int | None = None
        self._asked = False

    @property
    def window(self) -> int | None:
        """Context window in tokens, from litellm's own map; None where it is not known."""
        if not self._asked:
            self._asked = True
            try:
                self._window = _litellm().get_model_info(self.name).get("max_input_tokens")
            except Exception:  # litellm raises a bare Exception for a model it has no figures of
                self._window = None
        return self._window

    def check(self) -> None:
        litellm = _litellm()
        try:
            litellm.get_llm_provider(self.name)
        except Exception:
            raise UnusableModel(
                f"model {self.name!r}: litellm does not know its provider. Write provider/model (openai/{self.name}, "
                "anthropic/..., ollama/...), or one of the built-in names: reference, noop, local/smollm2-135m"
            ) from None
        found = litellm.validate_environment(model=self.name)
        if not found["keys_in_environment"] and found["missing_keys"]:
            raise UnusableModel(
                f"model {self.name!r}: set the environment variable {' and '.join(found['missing_keys'])}"
            )

    def count(self, text: str) -> int:
        return tokens.count(text)

    async def complete(self, request: Request) -> Completion:
        import tenacity

        litellm = _litellm()
        passing = (
            litellm.RateLimitError,
            litellm.InternalServerError,
            litellm.ServiceUnavailableError,
            litellm.BadGatewayError,
            litellm.APIConnectionError,
            litellm.Timeout,
        )
        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception_type(passing),
            stop=tenacity.stop_after_attempt(ATTEMPTS),
            wait=_wait,
            reraise=True,
        )
        started = time.monotonic()
        try:
            answer: Any = await retrying(self._ask, request.prompt)
        except litellm.ContextWindowExceededError as error:
            return Completion(
                "", finish="window", seconds=time.monotonic() - started, cost=0.0, truth=[{"said": str(error)[:300]}]
            )
        except litellm.ContentPolicyViolationError as error:
            return Completion(str(error)[:2_000], finish="refusal", seconds=time.monotonic() - started, cost=0.0)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # whatever a provider's adapter raises is the infrastructure's
            raise ModelError(f"{self.name}: {type(error).__name__}: {_first_lines(error)}") from error
        return self._completion(answer, time.monotonic() - started)

    async def _ask(self, prompt: str) -> Any:
        return await _litellm().acompletion(
            model=self.name,
            messages=[{"role": "user", "content": prompt}],
            temperature=self.settings.temperature,
            max_tokens=self.settings.max_output_tokens,
            timeout=self.settings.timeout,
            num_retries=0,
            max_retries=0,
        )

    def _completion(self, answer: Any, seconds: float) -> Completion:
        try:
            choice = answer.choices[0]
            text, finish = choice.message.content or "", choice.finish_reason or "stop"
        except (AttributeError, IndexError, TypeError):
            raise ModelError(f"{self.name}: an answer without choices: {str(answer)[:300]}") from None
        if getattr(choice.message, "refusal", None) and not text:
            text, finish = str(choice.message.refusal), "refusal"
        usage = getattr(answer, "usage", None)
        return Completion(
            text=text,
            finish="refusal" if finish == "content_filter" else finish,
            prompt_tokens=getattr(usage, "prompt_tokens", None),
            completion_tokens=getattr(usage, "completion_tokens", None),
            cost=self._cost(answer),
            seconds=seconds,
        )

    def _cost(self, answer: Any) -> float | None:
        try:
            cost: Any = _litellm().completion_cost(completion_response=answer, model=self.name)
        except Exception:  # raised for models without a price: unknown is said, not guessed
            return None
        return float(cost) if cost else None


def _wait(state: Any) -> float:
    """Seconds until the next attempt: what Retry-After says, else 1, 2, 4 ... with a little jitter."""
    error = state.outcome.exception()
    headers = getattr(getattr(error, "response", None), "headers", None) or getattr(error, "headers", None) or {}
    try:
        return min(float(headers.get("retry-after") or ""), LONGEST_WAIT)
    except (TypeError, ValueError):
        import random

        return min(2.0 ** (state.attempt_number - 1), 60.0) * random.uniform(0.8, 1.2)


def _first_lines(error: Exception) -> str:
    return " ".join(str(error).split())[:500]
