# One image for the site and the workers; docker-compose.yml says what each container runs.
# Other names, e.g. of a mirror: docker compose build with PYTHON_IMAGE and NODE_IMAGE in .env.
ARG PYTHON_IMAGE=python:3.11-slim-trixie
ARG NODE_IMAGE=node:22-slim

# The chart library for browsers, by its locked hash; nothing of Node.js is in the image that runs.
FROM ${NODE_IMAGE} AS frontend
WORKDIR /frontend
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund

FROM ${PYTHON_IMAGE}

# git: the publisher pushes public agents to a repository. postgresql-client (17, as the server) and age: backups. libegl1 and Mesa: MuJoCo's pictures, drawn without a display. fonts-dejavu-core: names in the pictures of matches for links.
RUN apt-get update \
 && apt-get install --no-install-recommends --yes git openssh-client postgresql-client age libegl1 libgl1-mesa-dri fonts-dejavu-core \
 && rm -rf /var/lib/apt/lists/*

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 DATA_DIR=/data
WORKDIR /app

# The lock first: a change of code alone installs nothing. Further packages, see pyproject.toml: box2d and mujoco
# (environments), grpc (the executor), kubernetes (SANDBOX=kubernetes), otel (traces), s3 (STORAGE=s3://...), as in
#   docker compose build --build-arg EXTRAS="grpc s3"
ARG EXTRAS=
COPY requirements.txt .ci/locked.py ./lock/.ci/
RUN mv lock/.ci/requirements.txt lock/ && python lock/.ci/locked.py site $EXTRAS >/tmp/locked.txt \
 && python -m pip install --no-cache-dir --no-deps --require-hashes -r /tmp/locked.txt && rm -r lock /tmp/locked.txt

# DATA_DIR has to be there whenever Django starts.
RUN useradd --uid 10001 --create-home --shell /usr/sbin/nologin arena \
 && install -d -o arena -g arena /data /monitoring

COPY . .
COPY --from=frontend /frontend/node_modules node_modules
# Static files are collected into the image; no secret is needed for that.
RUN DEBUG=false SECRET_KEY=for-collectstatic-only python manage.py collectstatic --noinput

# Never root. A worker that starts containers is given the group of the engine's socket when it is run.
USER arena
VOLUME /data
EXPOSE 8000
CMD ["gunicorn", "core.wsgi", "--bind", "0.0.0.0:8000", "--workers", "2", "--threads", "8", "--no-control-socket"]
