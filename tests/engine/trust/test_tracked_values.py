"""What of the environment stays readable: what the repository holds, and what is no secret."""

from __future__ import annotations

from tests.engine.ralph_runner import Project

SECRET = "s3cr3t/Value+With=Every&Thing"


def test_a_password_that_the_repository_tracks_is_no_secret(project: Project) -> None:
    project.plan(files={"compose.yml": "environment:\n  POSTGRES_PASSWORD: demo1234\n"})
    project.agent('echo "try demo1234 and demo5678"; echo "$ADMIN_PASSWORD"')
    environment = {"POSTGRES_PASSWORD": "demo1234", "ADMIN_PASSWORD": "demo5678"}
    done = project.run("1", env=environment)
    assert "try demo1234 and [redacted ADMIN_PASSWORD]\n" in done.stdout


def test_a_leaked_secret_stays_one_where_the_repository_tracks_it(project: Project) -> None:
    project.plan(files={".env.production": f"KEY={SECRET}\n"}).agent(f"echo 'it is {SECRET}'")
    done = project.run("1", env={"SERVICE_CREDENTIAL": SECRET})
    assert "it is [redacted SERVICE_CREDENTIAL]\n" in done.stdout


def test_what_everybody_has_in_the_environment_stays_readable(project: Project) -> None:
    environment = {
        "GIT_AUTHOR_NAME": "Ada Lovelace",
        "SSH_AUTH_SOCK": "/run/user/1000/keyring/ssh",
        "XAUTHORITY": "/home/ada/.Xauthority",
        "SECRET_KEY_PATH": "deploy/key.pem",
        "AUTH_HOST": "auth.example.com",
        "MAX_TOKENS": "1048576000",
        "AUTH_USER": "lovelace-ada",
    }
    project.agent("env | sort")
    done = project.run("1", env=environment)
    for name, value in environment.items():
        assert f"{name}={value}\n" in done.stdout
    assert "[redacted" not in done.stdout
