output "address" {
  description = "Public address of the site."
  value       = hcloud_primary_ip.site.ip_address
}

output "private_address" {
  description = "Address of the site for hosts of workers."
  value       = one(hcloud_server.site.network).ip
}

output "storage" {
  description = "STORAGE for the .env of every host, with KEY and SECRET of an account of the bucket for the two words."
  value       = var.bucket == "" ? "" : "s3://KEY:SECRET@${var.region}.your-objectstorage.com/${var.bucket}/files?region=${var.region}"
}

output "scaling" {
  description = "Pairs of SCALING for the .env of the site: a program of yours creates hosts here."
  value       = "provider=command,program=/etc/rl-arena/scaling/hosts"
}

output "worker_user_data" {
  description = "cloud-init for hosts of workers: terraform output -raw worker_user_data > worker.yml"
  sensitive   = true
  value = var.worker_environment == "" ? "" : templatefile("${path.module}/../../deploy/cloud-init/worker.yml", {
    repository  = var.repository
    release     = var.release
    environment = base64encode(var.worker_environment)
  })
}
