# Builds the image for both architectures:
#
#   docker buildx bake --file deploy/docker-bake.hcl                          # to look at
#   IMAGE=registry.example.com/drover VERSION=0.1.0 docker buildx bake --file deploy/docker-bake.hcl --push

variable "IMAGE" { default = "drover" }
variable "VERSION" { default = "dev" }
variable "REVISION" { default = "unknown" }
variable "CREATED" { default = "unknown" }

group "default" { targets = ["drover"] }

target "drover" {
  context    = "."
  dockerfile = "deploy/Dockerfile"
  platforms  = ["linux/amd64", "linux/arm64"]
  tags       = ["${IMAGE}:${VERSION}"]
  args       = { VERSION = VERSION, REVISION = REVISION, CREATED = CREATED }
  # Annotations are what registries show; labels are what a running container has.
  annotations = [
    "index:org.opencontainers.image.title=drover",
    "index:org.opencontainers.image.licenses=Apache-2.0",
    "index:org.opencontainers.image.version=${VERSION}",
    "index:org.opencontainers.image.revision=${REVISION}",
  ]
  attest = ["type=sbom", "type=provenance,mode=max"]
}
