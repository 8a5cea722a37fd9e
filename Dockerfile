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

# git: the publisher pushes public agents to a repository. postgresql-client (17, as the server): backups. libegl1 and Mesa: MuJoCo's pictures, drawn without a display. fonts-dejavu-core: names in the pictures of matches for links.
RUN apt-get update \
 && apt-get install --no-install-recommends --yes git openssh-client postgresql-client libegl1 libgl1-mesa-dri fonts-dejavu-core \
 && rm -rf /var/lib/apt/lists/*

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 DATA_DIR=/data
WORKDIR /app

# The lock first: a change of code alone installs nothing.
COPY requirements.txt .
RUN python -m pip install --no-cache-dir --no-deps --require-hashes -r requirements.txt

# Environments of Box2D and MuJoCo: docker compose build --build-arg EXTRAS=yes
ARG EXTRAS=
COPY requirements-extras.txt .
RUN test -z "$EXTRAS" || python -m pip install --no-cache-dir --no-deps --require-hashes -r requirements-extras.txt

# The executor's gRPC: docker compose build --build-arg GRPC=yes
ARG GRPC=
COPY requirements-grpc.txt .
RUN test -z "$GRPC" || python -m pip install --no-cache-dir --no-deps --require-hashes -r requirements-grpc.txt

# What talks to a cluster (SANDBOX=kubernetes): docker build --build-arg KUBERNETES=yes
ARG KUBERNETES=
COPY requirements-kubernetes.txt .
RUN test -z "$KUBERNETES" || python -m pip install --no-cache-dir --no-deps --require-hashes -r requirements-kubernetes.txt

# Traces for OpenTelemetry: docker compose build --build-arg OTEL=yes
ARG OTEL=
COPY requirements-otel.txt .
RUN test -z "$OTEL" || python -m pip install --no-cache-dir --no-deps --require-hashes -r requirements-otel.txt

# Files in an object store (STORAGE=s3://...): docker compose build --build-arg S3=yes
ARG S3=
COPY requirements-s3.txt .
RUN test -z "$S3" || python -m pip install --no-cache-dir --no-deps --require-hashes -r requirements-s3.txt

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
CMD ["gunicorn", "core.wsgi", "--bind", "0.0.0.0:8000", "--workers", "2", "--threads", "8"]
